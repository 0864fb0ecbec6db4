"""What passes between a graph and a graph that is one of its nodes: the keys that both have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surehand.control import START
from surehand.graph.channels import Write, copied
from surehand.graph.state import State, Values

__all__ = ["shared_keys", "values_for_subgraph", "writes_of_subgraph"]


def shared_keys(outer: State, inner: State) -> list[tuple[str, str]]:
    """``(outer key, inner key)`` for the keys of one name, and for the two conversations."""
    pairs = [(key, key) for key in outer.channels if key in inner.channels]
    conversations = (outer.messages_channel, inner.messages_channel)
    if conversations[0] and conversations[1] and conversations not in pairs:
        pairs.append((conversations[0], conversations[1]))
    return pairs


def values_for_subgraph(outer: State, values: Values, inner: State) -> dict[str, Any]:
    """The values that the inner graph begins with.

    Raises:
        InputError: They do not make a valid state there.
    """
    shared = {mine: copied(values[theirs]) for theirs, mine in shared_keys(outer, inner) if theirs in values}
    begin = {**inner.initial(), **shared}
    inner.check(begin, (START,))
    return begin


def writes_of_subgraph(node: str, outer: State, inner: State, writes: Sequence[Write], values: Values) -> list[Write]:
    """What the inner graph's nodes wrote, as writes of the outer graph.

    A key that both graphs merge in the same way gets each write, so that nothing is merged twice and removals arrive;
    any other gets the value that the inner graph reached. Keys that nobody wrote are not written.
    """
    passed: list[Write] = []
    for theirs, mine in shared_keys(outer, inner):
        of_key = [write for write in writes if write.key == mine]
        reducer = outer.channels[theirs].reducer
        if of_key and reducer is not None and reducer == inner.channels[mine].reducer:
            passed += [Write(node, theirs, write.value) for write in of_key]
        elif of_key:
            passed.append(outer.write(node, theirs, values[mine]))
    return passed
