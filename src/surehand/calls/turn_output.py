"""The results of one turn, kept to a size together.

Each result has a limit of its own, and ten of them may still fill a model's whole context. What the turn may have is
shared so that small results stay as they are and only the large ones pay: each gets as much as the others of its kind.
The cut is made on the finished answers, when all are there, because only then is it known who is large. It depends on
nothing but the answers, in call order. The events and the journal have them as they were before: a call that is
recalled from a journal may be in another company than when it ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from surehand.calls.answer import ToolReturn, keeper
from surehand.calls.call import Call
from surehand.calls.results import cut_blocks, cut_note, cut_of, is_cut_note, text_to_count
from surehand.control import is_command
from surehand.messages import Content, Message, ToolMessage
from surehand.outcomes import Outcome
from surehand.shapes import is_a

__all__ = ["fair_share", "fit"]


def fit(calls: Sequence[Call], budget: int | None) -> list[Call]:
    """The calls with those of their answers cut that are too long for the turn.

    Args:
        calls: The calls of one turn, each with its answer, in call order.
        budget: The most characters of all answers together; None for no limit. Notices come on top where the share of
            an answer is too small for one.
    """
    if budget is None:
        return list(calls)
    sizes = [_size(call.message) for call in calls]
    if sum(sizes) <= budget:
        return list(calls)
    share = fair_share(sizes, budget)
    return [call if size <= share else _cut(call, share, budget) for call, size in zip(calls, sizes, strict=True)]


def fair_share(sizes: Sequence[int], budget: int) -> int:
    """The size that, as the limit of each, keeps the sizes within the budget together; at least 1.

    What the small ones leave is the large ones' to share: no one is cut below another that is not cut.
    """
    left = budget
    for already, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - already)
        if size > share:
            return max(share, 1)
        left -= size
    return max(max(sizes, default=1), 1)


def _size(message: ToolMessage | None) -> int:
    return 0 if message is None else len(_counted(message.content))


def _counted(content: Content) -> str:
    return content if isinstance(content, str) else text_to_count(_blocks(content))


def _blocks(content: Sequence[str | dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]


def _cut(call: Call, share: int, budget: int) -> Call:
    message = call.message
    if message is None:
        return call
    outcome = message.outcome or Outcome()
    text = _counted(message.content)
    cut = cut_of(text, share, keeper(call), was_cut=any(map(is_cut_note, outcome.notes)))
    if cut is None:
        return call
    if isinstance(message.content, str):
        content: Content = "".join(cut.to(share))
    else:
        content = [*cut_blocks(_blocks(message.content), cut, share)]
    note = f"{cut_note(share, cut.size)}, so that the answers of the turn have at most {budget:,}"
    changed = message.replace(
        content=content,
        artifact=_whole(call, message, text) if message.artifact is None else message.artifact,
        outcome=replace(outcome, notes=(*outcome.notes, note)),
    )
    return call._replace(message=changed)


def _whole(call: Call, message: ToolMessage, text: str) -> Any:
    """What the artifact of an answer is that nothing was cut from before."""
    value: Any = call.value
    if is_a(value, ToolReturn) or is_a(value, Message):
        return value.content
    if message.status == "error" or _is_spent(value):
        return text if isinstance(message.content, str) else message.content
    return value


def _is_spent(value: object) -> bool:
    """Whether there is nothing in a value that the answer was made of, or nothing any longer."""
    return value is None or is_command(value) or hasattr(type(value), "__next__")
