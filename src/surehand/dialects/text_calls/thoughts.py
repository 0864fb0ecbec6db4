"""Thoughts in a text: what a model considers there is no call, and what stands behind them stands at a start.

Which model writes which (from the chat templates): ``<think>`` most; ``<seed:think>`` Seed-OSS; ``[THINK]`` Magistral;
``<|START_THINKING|>`` Command R7B and A; ``<|channel>thought`` Gemma 4; ``◁think▷`` Kimi-VL; ``<thought>`` EXAONE Deep;
``<thinking>`` those that were asked to.
"""

from __future__ import annotations

from typing import Final

__all__ = ["THOUGHTS", "THOUGHT_ENDS", "may_begin", "opener_of"]

THOUGHTS: Final = {
    "<think>": "</think>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "◁think▷": "◁/think▷",
    "<thought>": "</thought>",
    "<thinking>": "</thinking>",
}
"""What begins a thought -> what ends it. Templates may put the first into the prompt, so that only the end is there."""

THOUGHT_ENDS: Final = frozenset(THOUGHTS.values())


def opener_of(text: str) -> str | None:
    """What begins the thought that the text begins with; None where it begins with none."""
    return next((opener for opener in THOUGHTS if text.startswith(opener)), None)


def may_begin(text: str) -> bool:
    """Whether a thought may begin here once more has come; also where nothing has."""
    return any(opener.startswith(text) for opener in THOUGHTS)
