"""The story of the demo: what the recorded model sends, and what must become of it.

The replies are a script. Everything after them is real: the calls go through the agent and its ToolNode, the tools
run, and each scene is checked against what it promises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from surehand import AIMessage, ToolMessage
from surehand.cli._desk import SECRETS, Desk
from surehand.outcomes import FailureKind

__all__ = ["FINAL_REPLY", "QUESTION", "SCENES", "Ending", "Scene", "SentCall"]

QUESTION: Final = "Order 4711 came broken. Refund it, and find out when we can send a new lamp."
FINAL_REPLY: Final = AIMessage(
    "Order 4711 is refunded (129.90 euro). A new lamp can be sent within 4 days; East and West have it in stock."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a call must end."""

    kind: FailureKind | None = None
    """None for a success."""
    attempts: int = 1
    is_repaired: bool = False
    """Whether something must have been relaxed or coerced."""
    tells: tuple[str, ...] = ()
    """Texts the model must be told."""
    hides: tuple[str, ...] = ()
    """Texts the model must not be told."""
    longest: int | None = None
    """The most characters the model may be told; None for any number."""

    def problems(self, answer: ToolMessage) -> list[str]:
        """What the answer does not keep of this; empty when it is as it must be."""
        outcome = answer.outcome
        if outcome is None:
            return ["the answer has no outcome"]
        found = [
            (outcome.kind != self.kind, f"expected {self.kind or 'success'}, got {outcome.kind or 'success'}"),
            (outcome.attempts != self.attempts, f"expected {self.attempts} attempts, got {outcome.attempts}"),
            (self.is_repaired and not outcome.repairs, "expected a repair, got none"),
            *((text not in answer.text, f"the model is not told {text!r}") for text in self.tells),
            *((text in answer.text, f"the model is told {text!r}") for text in self.hides),
            (self.longest is not None and len(answer.text) > self.longest, f"told {len(answer.text)} characters"),
        ]
        return [problem for is_broken, problem in found if is_broken]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentCall:
    """A call as the model sent it, and how it must end."""

    name: str
    arguments: str
    """The argument text, exactly as it came."""
    ending: Ending = Ending()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One reply of the model."""

    title: str
    lesson: str
    calls: tuple[SentCall, ...]
    finish_reason: str = "tool_calls"
    check: Callable[[Desk], bool] = lambda _: True
    """Whether the tools did what they should, and nothing else."""
    promise: str = ""
    """What ``check`` looks at, in words."""

    def reply(self, number: int) -> AIMessage:
        """The reply as a provider delivers it: names and argument texts."""
        calls = [
            {"id": f"call_{number}_{place}", "name": call.name, "args": call.arguments}
            for place, call in enumerate(self.calls, start=1)
        ]
        return AIMessage("", tool_calls=calls, response_metadata={"finish_reason": self.finish_reason})

    def problems(self, answers: Sequence[ToolMessage], desk: Desk) -> list[str]:
        """What went otherwise than promised; empty when all is well."""
        if len(answers) != len(self.calls):
            return [f"{len(self.calls)} calls got {len(answers)} answers"]
        found = [
            f"{call.name}: {problem}"
            for call, answer in zip(self.calls, answers, strict=True)
            for problem in call.ending.problems(answer)
        ]
        return found if self.check(desk) else [*found, f"not kept: {self.promise}"]


def _ran_in_parallel(desk: Desk) -> bool:
    starts, ends = zip(*desk.supplier_spans, strict=True)
    waited = sum(end - start for start, end in desk.supplier_spans)
    return len(starts) == 4 and max(ends) - min(starts) < 0.75 * waited  # noqa: PLR2004 - one after the other gives 1.0


SCENES: Final = (
    Scene(
        title="A reply cut off by the output limit",
        lesson="A JSON repairer would close the bracket and pay back 1 euro of 129.90.",
        calls=(
            SentCall(
                name="refund",
                arguments='{"order_id": 4711, "amount": 1',
                ending=Ending(kind=FailureKind.TRUNCATED, attempts=0),
            ),
        ),
        finish_reason="length",
        check=lambda desk: not desk.refunds,
        promise="no money was paid",
    ),
    Scene(
        title="Broken JSON",
        lesson="What loses nothing is read; what would have to be guessed is refused.",
        calls=(
            SentCall(name="refund", arguments="{'order_id': 4711, 'amount': 129.9,}", ending=Ending(is_repaired=True)),
            SentCall(
                name="add_note",
                arguments="{order_id: 4711, text: call back tomorrow}",
                ending=Ending(kind=FailureKind.MALFORMED, attempts=0),
            ),
        ),
        check=lambda desk: desk.refunds == [(4711, 129.9)] and not desk.notes,
        promise="129.90 was paid once and no note was written",
    ),
    Scene(
        title="Wrong types",
        lesson="Coerced where nothing is lost; otherwise every complaint at once, with its place.",
        calls=(
            SentCall(name="find_order", arguments='{"order_id": "4711", "with_items": true}'),
            SentCall(
                name="find_order",
                arguments='{"order_id": "the red one", "with_items": "perhaps"}',
                ending=Ending(
                    kind=FailureKind.INVALID_ARGUMENTS, attempts=0, tells=("$.order_id", "$.with_items", "the red one")
                ),
            ),
        ),
        check=lambda desk: desk.lookups == [(4711, True)],
        promise="one look-up ran, with the number 4711",
    ),
    Scene(
        title="A tool that does not exist",
        lesson="The model is told what is near; nothing is run on a guess.",
        calls=(
            SentCall(
                name="find_orders",
                arguments='{"order_id": 4711}',
                ending=Ending(kind=FailureKind.UNKNOWN_TOOL, attempts=0, tells=("'find_order'",)),
            ),
        ),
        check=lambda desk: len(desk.lookups) == 1,
        promise="no look-up ran",
    ),
    Scene(
        title="A tool that hangs",
        lesson="The carrier does not answer; after 0.5 seconds the model is told.",
        calls=(
            SentCall(name="track_parcel", arguments='{"parcel_id": "P-17"}', ending=Ending(kind=FailureKind.TIMEOUT)),
        ),
    ),
    Scene(
        title="A tool that is busy twice",
        lesson="Its author raised ToolException(retryable=True): nothing happened, so it is tried again.",
        calls=(
            SentCall(name="exchange_rate", arguments='{"currency": "USD"}', ending=Ending(attempts=3, tells=("1.08",))),
        ),
    ),
    Scene(
        title="A crash with a password and a key in its text",
        lesson="The model is told what happened; the secrets stay in the developer's log.",
        calls=(
            SentCall(
                name="customer_address",
                arguments='{"order_id": 4711}',
                ending=Ending(
                    kind=FailureKind.EXCEPTION, tells=("PermissionError",), hides=(*SECRETS, "Traceback", ".py")
                ),
            ),
        ),
    ),
    Scene(
        title="Four calls at once",
        lesson="They wait 1.0 second in all and are done in 0.4; the answers come in the order of the calls.",
        calls=tuple(
            SentCall(name="ask_supplier", arguments=f'{{"supplier": "{name}"}}', ending=Ending(tells=(name,)))
            for name in ("North", "East", "South", "West")
        ),
        check=_ran_in_parallel,
        promise="the four calls ran at the same time",
    ),
    Scene(
        title="A huge result",
        lesson="The tool returns 200,000 characters; its max_output is 300.",
        calls=(
            SentCall(name="export_log", arguments='{"order_id": 4711}', ending=Ending(tells=("200,000",), longest=300)),
        ),
    ),
    Scene(
        title="The same refund again",
        lesson="It succeeded above, so it is not made twice by mistake; the model is told how to insist.",
        calls=(
            SentCall(
                name="refund",
                arguments='{"order_id": 4711, "amount": 129.9}',
                ending=Ending(kind=FailureKind.SKIPPED, attempts=0, tells=("Refunded 129.90 euro",)),
            ),
        ),
        check=lambda desk: desk.refunds == [(4711, 129.9)],
        promise="129.90 was paid once",
    ),
)
