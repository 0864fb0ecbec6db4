"""Graphs to be drawn, and what a picture of pixels holds."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Literal, TypedDict

from surehand.graph import END, START, CompiledGraph, StateGraph


class State(TypedDict):
    x: int


def nothing(state: State) -> None:
    """A node's function."""
    return


def builder(*names: str) -> StateGraph:
    """A graph with these nodes, and no edges yet."""
    made = StateGraph(State)
    for name in names:
        made.add_node(name, nothing)
    return made


def agent() -> CompiledGraph:
    """A model that calls tools until it is done."""

    def route(state: State) -> Literal["tools", "__end__"]:
        return "tools"

    made = builder("model", "tools").add_edge(START, "model").add_edge("tools", "model")
    return made.add_conditional_edges("model", route).compile(name="agent")


def fork_and_join() -> CompiledGraph:
    """Three nodes side by side, and one that waits for them."""
    made = builder("plan", "search", "read", "ask", "merge").add_edge(START, "plan")
    for name in ("search", "read", "ask"):
        made.add_edge("plan", name)
    return made.add_edge(["search", "read", "ask"], "merge").add_edge("merge", END).compile()


def with_graph_inside() -> CompiledGraph:
    """An agent between two nodes."""
    made = builder("triage", "report").add_node("agent", agent()).add_edge(START, "triage")
    made.add_conditional_edges("triage", lambda state: "no", {"spam": END, "no": "agent"})
    return made.add_edge("agent", "report").add_edge("report", END).compile()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """A PNG picture, taken apart."""

    width: int
    height: int
    rows: tuple[bytes, ...]
    """Red, green, blue and opacity of each pixel."""

    def brightness(self, x: int, y: int) -> float:
        """From 0, black, to 255."""
        return sum(self.rows[y][4 * x : 4 * x + 3]) / 3


def pixels(png: bytes) -> Pixels:
    """Read a picture of eight bits a channel, with opacity, that is not interlaced."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", png[16:29])
    assert (depth, colour, interlace) == (8, 6, 0)
    data, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        data += png[at + 8 : at + 8 + length] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += length + 12
    return Pixels(width=width, height=height, rows=tuple(_rows(zlib.decompress(data), width * 4)))


def _rows(data: bytes, length: int) -> list[bytes]:
    rows, above = list[bytes](), bytes(length)
    for start in range(0, len(data), length + 1):
        row = bytearray(data[start + 1 : start + 1 + length])
        for at in range(length):
            left, corner = (row[at - 4], above[at - 4]) if at >= 4 else (0, 0)
            row[at] = (row[at] + _predicted(data[start], left, above[at], corner)) & 255
        above = bytes(row)
        rows.append(above)
    return rows


def _predicted(kind: int, left: int, above: int, corner: int) -> int:
    """What the picture's format foretells of a byte, by the kind of its row."""
    if kind < 4:
        return (0, left, above, (left + above) // 2)[kind]
    guess = left + above - corner
    return min((left, above, corner), key=lambda value: abs(guess - value))
