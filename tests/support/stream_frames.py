"""Turns of calls, cut into frames in the ways in which providers do it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

__all__ = ["CHAT_HABITS", "Call", "anthropic_frames", "calls", "chat_frames", "response_frames"]

Frame = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A call as the model meant it."""

    id: str
    name: str
    args: dict[str, Any]
    is_custom: bool = False

    @property
    def text(self) -> str:
        """The arguments as they are sent."""
        return self.args["input"] if self.is_custom else json.dumps(self.args, ensure_ascii=len(self.args) % 2 == 0)


_SCALARS: Final = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
_VALUES: Final = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
_ARGS: Final = st.dictionaries(st.sampled_from(["a", "b", '"}', "{"]), _VALUES, max_size=3)
_NAMES: Final = st.sampled_from(["find", "add", "send"])


@st.composite
def calls(draw: st.DrawFn, *, with_custom: bool = False) -> list[Call]:
    """A turn; no two calls in it are the same, as without ids those could not be told from one sent twice."""
    bodies = draw(st.lists(st.tuples(_NAMES, _ARGS), min_size=1, max_size=4, unique_by=repr))
    made = [Call(f"call_{number}", name, args) for number, (name, args) in enumerate(bodies)]
    if with_custom and draw(st.booleans()):
        text = draw(st.text(max_size=9) | st.just('{"a": 1}'))
        made.append(Call("call_custom", "run_sql", {"input": text}, is_custom=True))
    return made


def cut(draw: st.DrawFn, text: str) -> list[str]:
    """The text in pieces, some of which may be empty."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def merged(draw: st.DrawFn, rows: list[list[Frame]], *, is_interleaved: bool) -> list[Frame]:
    """The rows one after the other, or mixed with the order inside of each kept; all begin in order."""
    if not is_interleaved:
        return [frame for row in rows for frame in row]
    waiting = [row.copy() for row in rows]
    frames = [row.pop(0) for row in waiting if row]
    while left := [row for row in waiting if row]:
        frames.append(draw(st.sampled_from(left)).pop(0))
    return frames


@dataclass(frozen=True)
class Habit:
    """How a server sends calls in chat completions."""

    has_index: bool = True
    is_zero: bool = False
    """Whether every call has the number 0."""
    ids: str = "once"
    """``once``, ``always``, ``late`` (not with the name) or ``never``."""
    is_whole: bool = False
    """Whether a call comes in one piece."""
    can_mix: bool = False
    """Whether the pieces of several calls can be mixed."""
    repeats: bool = False
    """Whether a whole call may come again."""


CHAT_HABITS: Final = {
    "numbered": Habit(can_mix=True),
    "numbered, everything each time": Habit(ids="always", can_mix=True),
    "numbered, ids late": Habit(ids="late", can_mix=True),
    "numbered, without ids": Habit(ids="never", can_mix=True),
    "numbered, whole, twice": Habit(is_whole=True, repeats=True),
    "ids alone, each time": Habit(has_index=False, ids="always", can_mix=True),
    "ids alone, once": Habit(has_index=False),
    "ids alone, whole, twice": Habit(has_index=False, is_whole=True, repeats=True),
    "all number 0": Habit(is_zero=True),
    "all number 0, whole": Habit(is_zero=True, is_whole=True),
    "neither ids nor numbers": Habit(has_index=False, ids="never"),
    "neither ids nor numbers, whole": Habit(has_index=False, ids="never", is_whole=True),
}


@st.composite
def chat_frames(draw: st.DrawFn, turn: list[Call], habit: Habit) -> list[Frame]:
    """The deltas of a turn in chat completions, without what ends it."""
    rows = [[_delta(entry) for entry in _entries(draw, call, number, habit)] for number, call in enumerate(turn)]
    frames = merged(draw, rows, is_interleaved=habit.can_mix and draw(st.booleans()))
    if draw(st.booleans()):
        place = draw(st.integers(0, len(frames)))
        frames.insert(place, draw(st.sampled_from([_delta(), {"choices": []}, _content("")])))
    return frames


def _entries(draw: st.DrawFn, call: Call, number: int, habit: Habit) -> list[Frame]:
    pieces = [call.text] if habit.is_whole else ["", *cut(draw, call.text)]
    entries: list[Frame] = []
    for place, text in enumerate(pieces):
        is_first = place == 0
        function: Frame = {"arguments": text}
        if is_first or habit.ids == "always":
            function["name"] = call.name
        entry: Frame = {"function": function}
        if habit.has_index:
            entry["index"] = 0 if habit.is_zero else number
        if habit.ids == "always" or (habit.ids == "once" and is_first) or (habit.ids == "late" and place == 1):
            entry["id"] = call.id
        entries.append(entry)
    return [*entries, *(entries[-1:] if habit.repeats and draw(st.booleans()) else [])]


def _delta(*entries: Frame) -> Frame:
    return {"choices": [{"index": 0, "delta": {"tool_calls": list(entries)}, "finish_reason": None}]}


def _content(text: str) -> Frame:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


@st.composite
def response_frames(draw: st.DrawFn, turn: list[Call]) -> tuple[list[Frame], list[Frame]]:
    """The events of a turn in OpenAI's Responses without its end, and the items that it ends with."""
    numbering = draw(st.sampled_from(["right", "zero", "none"]))
    ids = "stable" if numbering != "right" else draw(st.sampled_from(["stable", "changing", "absent"]))
    parts = {part for part in ("deltas", "done", "item") if draw(st.booleans())} | {
        draw(st.sampled_from(["done", "item"]))
    }
    rows: list[list[Frame]] = []
    items: list[Frame] = []
    for number, call in enumerate(turn):
        kind, what, stem = _SPELT[call.is_custom]
        item: Frame = {"type": kind, "call_id": call.id, "name": call.name, what: call.text, "status": "completed"}
        items.append({**item, "id": f"fc_{number}"})
        pieces = cut(draw, call.text) if "deltas" in parts else []
        row: list[Frame] = [{"type": "response.output_item.added", "item": {**item, what: "", "status": "in_progress"}}]
        row += [{"type": f"{stem}.delta", "delta": piece} for piece in pieces]
        row += [{"type": f"{stem}.done", what: call.text}] if "done" in parts else []
        row += [{"type": "response.output_item.done", "item": item}] if "item" in parts or call.is_custom else []
        rows.append([_named(event, number, place, numbering, ids) for place, event in enumerate(row)])
    frames = merged(draw, rows, is_interleaved=draw(st.booleans()))
    if draw(st.booleans()):
        frames = [{**frame, "sequence_number": number} for number, frame in enumerate(frames)]
        frames = [again for frame in frames for again in [frame] * draw(st.sampled_from([1, 1, 1, 2]))]
    return frames, draw(st.sampled_from([items, []]))


_SPELT: Final = {
    False: ("function_call", "arguments", "response.function_call_arguments"),
    True: ("custom_tool_call", "input", "response.custom_tool_call_input"),
}


def _named(event: Frame, number: int, place: int, numbering: str, ids: str) -> Frame:
    """The event with its number and the id of its item, as far as the server tells them."""
    id_ = {"stable": f"fc_{number}", "changing": f"fc_{number}_{place}"}.get(ids)
    named = {**event} if numbering == "none" else {**event, "output_index": 0 if numbering == "zero" else number}
    if id_ is None:
        return named
    return {**named, "item": {**event["item"], "id": id_}} if "item" in event else {**named, "item_id": id_}


@st.composite
def anthropic_frames(draw: st.DrawFn, turn: list[Call]) -> list[Frame]:
    """The events of a turn in Anthropic's Messages, without what ends it."""
    rows: list[list[Frame]] = []
    for number, call in enumerate(turn):
        is_at_once = bool(call.args) and draw(st.booleans())
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.args if is_at_once else {}}
        pieces = [] if is_at_once else cut(draw, call.text)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        row: list[Frame] = [{"type": "content_block_start", "index": number, "content_block": block}]
        row += [{"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas]
        rows.append([*row, {"type": "content_block_stop", "index": number}])
    frames = merged(draw, rows, is_interleaved=draw(st.booleans()))
    frames.insert(draw(st.integers(0, len(frames))), {"type": "ping"})
    return [{"type": "message_start", "message": {"id": "msg"}}, *frames]
