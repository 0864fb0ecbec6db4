"""A graph as text that Mermaid draws: solid arrows for edges, dotted ones for what is decided while it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from surehand.graph.drawing.picture import Arrow, Figure, Kind, Picture

__all__ = ["mermaid_of"]

_PLAIN: Final = re.compile(r"(?!node_\d)[A-Za-z][A-Za-z0-9_]*")
_RESERVED: Final = frozenset(
    {"acctitle", "accdescr", "bt", "call", "class", "classdef", "click", "constructor", "default", "direction", "end",
     "flowchart", "graph", "hasownproperty", "href", "interpolate", "isprototypeof", "linkstyle", "lr", "prototype",
     "rl", "style", "subgraph", "tb", "td", "tolocalestring", "tostring", "valueof"}
)  # fmt: skip
"""Words of Mermaid's language, and of the language that it is written in."""

_LONGEST: Final = 200
"""Characters of a name: Mermaid draws no text of more than 50,000 in all."""

# Labels are read as Markdown and as HTML, except for what is written as an entity. A sign at the beginning makes a list
# of the label, underscores make it slanted where they do not stand within a word.
_SPECIAL: Final = re.compile(
    r"[\"#&<>`*~\\$%;:|\[\]{}@]|^[-+=](?=\s|$)|(?<=^\d)[.)]|(?<=^\d\d)[.)]|(?<=^\d\d\d)[.)]"
    r"|(?<![^\W_])_|_(?![^\W_])"
)


def mermaid_of(picture: Picture) -> str:
    """The graph as a Mermaid flowchart; the same graph always gives the same text."""
    return "\n".join(["flowchart TD", *_lines(_named(picture, "", set()), "    ")]) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """A picture whose figures have ids that no other figure has."""

    picture: Picture
    ids: Sequence[str]
    inner: Sequence[_Named | None]

    def end_of(self, place: int, kind: Kind) -> str:
        """The id at which an arrow begins or ends: for a graph that is opened, the end or the start within.

        It has always a start. An arrow at its frame would be one from the frame to what is in it, where a graph is
        followed by itself, and that Mermaid does not draw.
        """
        within = self.inner[place]
        if within is None:
            return self.ids[place]
        inner = (at for at, figure in enumerate(within.picture.figures) if figure.kind is kind)
        return within.end_of(next(inner, 0), kind)


def _named(picture: Picture, prefix: str, taken: set[str]) -> _Named:
    ids = [_free(prefix + _id(figure, place), taken) for place, figure in enumerate(picture.figures)]
    inner = [
        None if figure.inner is None else _named(figure.inner, f"{id}__", taken)
        for id, figure in zip(ids, picture.figures, strict=True)
    ]
    return _Named(picture=picture, ids=ids, inner=inner)


def _id(figure: Figure, place: int) -> str:
    if figure.kind in {Kind.START, Kind.END}:
        return f"__{figure.text}__"
    if figure.kind is not Kind.NODE:
        return f"node_{place - 1}_{figure.kind.value}"
    is_plain = _PLAIN.fullmatch(figure.text) and figure.text.lower() not in _RESERVED and len(figure.text) <= _LONGEST
    return figure.text if is_plain else f"node_{place - 1}_"


def _free(id: str, taken: set[str]) -> str:
    while id in taken:
        id += "_"
    taken.add(id)
    return id


def _lines(named: _Named, indent: str) -> Iterator[str]:
    for place, figure in enumerate(named.picture.figures):
        within = named.inner[place]
        if within is None:
            yield f"{indent}{named.ids[place]}{_shape(figure)}"
        else:
            yield f'{indent}subgraph {named.ids[place]}["{_label(figure)}"]'
            yield from _lines(within, f"{indent}    ")
            yield f"{indent}end"
    for arrow in sorted(named.picture.arrows, key=lambda arrow: arrow.is_choice):
        source, target = named.end_of(arrow.source, Kind.END), named.end_of(arrow.target, Kind.START)
        yield f"{indent}{source} {_link(arrow)} {target}"


def _shape(figure: Figure) -> str:
    match figure.kind:
        case Kind.START | Kind.END:
            return f"([{figure.text}])"
        case Kind.JOIN | Kind.ANY:
            return f"(({figure.text}))"
        case Kind.NODE:
            return f'[["{_label(figure)}"]]' if figure.is_graph else f'["{_label(figure)}"]'


def _label(figure: Figure) -> str:
    return "<br/>".join([_escaped(figure.text), *(f"({mark})" for mark in figure.marks)])


def _link(arrow: Arrow) -> str:
    line, head = ("-.", ".->") if arrow.is_choice else ("--", "-->")
    if arrow.label:
        return f'{line} "{_escaped(arrow.label)}" {head}'
    return "-.->" if arrow.is_choice else "-->"


def _escaped(text: str) -> str:
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return _SPECIAL.sub(lambda found: "#quot;" if found[0] == '"' else f"#{ord(found[0])};", text)
