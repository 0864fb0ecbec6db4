"""The guided tour: a recorded model, real tools, and a check of every promise."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from surehand import AIMessage, BaseTool, HumanMessage, Message, ToolMessage, check_transcript
from surehand.cli._conversation import messages_of
from surehand.cli._desk import Desk
from surehand.cli._scenes import FINAL_REPLY, QUESTION, SCENES, Scene
from surehand.cli._screen import Screen, print_json
from surehand.testing import ScriptedModel

__all__ = ["JsonReport", "Played", "ScreenReport", "Summary", "run_demo"]

PAUSE: Final = 1.3
"""Seconds between two scenes, so that a reader can follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A scene as it went."""

    number: int
    scene: Scene
    reply: AIMessage
    answers: tuple[ToolMessage, ...]
    problems: tuple[str, ...]
    """What went otherwise than promised; empty when all is well."""


@dataclass(slots=True, kw_only=True)
class Summary:
    """The whole conversation, counted."""

    calls: int = 0
    answers: int = 0
    problems: list[str] = field(default_factory=list[str])

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "type": "summary",
            "calls": self.calls,
            "answers": self.answers,
            "passed": not self.problems,
            "problems": self.problems,
        }


class Report(Protocol):
    """Where the tour is told."""

    def opening(self) -> None:
        """Said before the first scene."""

    def scene(self, played: Played) -> None:
        """Said after each scene."""

    def closing(self, summary: Summary) -> None:
        """Said at the end."""


def run_demo(report: Report) -> bool:
    """Play all scenes, and say whether every promise was kept."""
    desk = Desk()
    report.opening()
    history: list[Message] = [HumanMessage(QUESTION)]
    summary = Summary()
    for played in _played(desk, history):
        summary.calls += len(played.reply.tool_calls)
        summary.answers += len(played.answers)
        summary.problems += [f"scene {played.number}: {problem}" for problem in played.problems]
        report.scene(played)
    summary.problems += _problems_of(history)
    report.closing(summary)
    return not summary.problems


def _played(desk: Desk, history: list[Message]) -> Iterator[Played]:
    """One scene after the other, out of one conversation of an agent; ``history`` grows with its messages."""
    replies = [scene.reply(number) for number, scene in enumerate(SCENES, start=1)]
    conversation = _turns(ScriptedModel([*replies, FINAL_REPLY]), desk.tools(), history)
    for number, (scene, (reply, answers)) in enumerate(zip(SCENES, conversation, strict=False), start=1):
        yield Played(
            number=number,
            scene=scene,
            reply=reply,
            answers=answers,
            problems=tuple(scene.problems(answers, desk)),
        )
    for _ in conversation:  # the final reply, which calls nothing
        pass


def _turns(
    model: ScriptedModel, tools: Sequence[BaseTool], history: list[Message]
) -> Iterator[tuple[AIMessage, tuple[ToolMessage, ...]]]:
    """Each reply that calls tools, with the answers to its calls."""
    reply: AIMessage | None = None
    answers: list[ToolMessage] = []
    for message in messages_of(model, tools, QUESTION, max_iterations=len(SCENES) + 1):
        history.append(message)
        if isinstance(message, AIMessage):
            reply, answers = message, []
        elif isinstance(message, ToolMessage):
            answers.append(message)
            if reply is not None and len(answers) == len(reply.tool_calls):
                yield reply, tuple(answers)


def _problems_of(history: Sequence[Message]) -> list[str]:
    """What is wrong with the conversation as a whole: it must have ended, with one answer for each call."""
    called = [call["id"] for message in history if isinstance(message, AIMessage) for call in message.tool_calls]
    answered = [message.tool_call_id for message in history if isinstance(message, ToolMessage)]
    found = [f"transcript: {problem}" for problem in check_transcript(history)]
    if called != answered:
        found.append(f"the calls {called} got the answers {answered}")
    if history[-1] != FINAL_REPLY and history[-1].text != FINAL_REPLY.text:
        found.append("the conversation did not reach its end")
    return found


class ScreenReport:
    """Tells the tour to a reader.

    Args:
        screen: Where to print.
        is_fast: Whether to leave out the pauses between scenes.
    """

    def __init__(self, *, screen: Screen, is_fast: bool) -> None:
        self._screen = screen
        self._is_fast = is_fast

    def opening(self) -> None:
        """What is recorded here, and what is real."""
        self._screen.line("Surehand: every call of a model gets its answer.", style="bold")
        self._screen.line(
            "The model is a recording: a script of replies as models send them. All after it is real:"
            " an agent, its ToolNode, and eight tools of an order desk that really run.",
            style="dim",
        )
        self._screen.line()
        self._screen.labelled("question", QUESTION)

    def scene(self, played: Played) -> None:
        """A title, three lines for each call, and what was not kept."""
        self._pause()
        scene = played.scene
        note = "" if scene.finish_reason == "tool_calls" else f"finish_reason: {scene.finish_reason}"
        self._screen.title(f"{played.number}. {scene.title}", note=note)
        self._screen.line(scene.lesson, style="italic dim", indent="  ")
        for call, answer in zip(scene.calls, played.answers, strict=False):
            self._screen.call(sent=f"{call.name} {call.arguments}", answer=answer)
        for problem in played.problems:
            self._screen.labelled("NOT KEPT", problem, style="bold red")

    def closing(self, summary: Summary) -> None:
        """The final reply, the counts, and whether all was kept."""
        self._pause()
        self._screen.title("The end of the conversation")
        self._screen.labelled("model says", FINAL_REPLY.text)
        kept = not summary.problems
        self._screen.line()
        self._screen.line(
            f"{summary.calls} calls, {summary.answers} answers, "
            + (
                "exactly one each, in order; the transcript is valid. Every promise was kept."
                if kept
                else "not as promised:"
            ),
            style="bold green" if kept else "bold red",
        )
        for problem in summary.problems:
            self._screen.labelled("NOT KEPT", problem, style="red")

    def _pause(self) -> None:
        if not self._is_fast:
            time.sleep(PAUSE)


class JsonReport:
    """Tells the tour to a program, one JSON object a line."""

    def opening(self) -> None:
        """What is recorded, and the question."""
        print_json({"type": "opening", "model": "recorded", "question": QUESTION})

    def scene(self, played: Played) -> None:
        """A scene with its calls."""
        calls = [
            {
                "id": answer.tool_call_id,
                "name": call.name,
                "sent": call.arguments,
                "outcome": answer.outcome.to_dict() if answer.outcome else None,
                "told": answer.text,
            }
            for call, answer in zip(played.scene.calls, played.answers, strict=False)
        ]
        print_json(
            {
                "type": "scene",
                "number": played.number,
                "title": played.scene.title,
                "finish_reason": played.scene.finish_reason,
                "calls": calls,
                "passed": not played.problems,
                "problems": list(played.problems),
            }
        )

    def closing(self, summary: Summary) -> None:
        """The counts, and whether all was kept."""
        print_json(summary.to_dict())
