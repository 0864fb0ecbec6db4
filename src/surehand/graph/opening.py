"""How a run begins: with an input, where it stopped, or with answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from surehand.checkpoints.codec import Codec
from surehand.control import Command, current_runtime, is_command
from surehand.errors import InputError, InterruptError
from surehand.graph.engine import Run, beginning, begun_with
from surehand.graph.kept import Keeping, Kept
from surehand.graph.plan import Plan
from surehand.graph.saving import Recorder
from surehand.graph.tasks import Settings
from surehand.interrupts import Answer, Interrupt, check_answer
from surehand.policy import UNSET
from surehand.shapes import is_array, is_object

__all__ = ["open_inside", "open_run"]

_ID: Final = re.compile(r"[0-9a-f]{32}")


async def open_run(plan: Plan, settings: Settings, given: object, *, is_here: bool) -> Run:
    """The run that an input asks for.

    None goes on where the thread stopped, ``Command(resume=…)`` does so with answers, and anything else begins anew on
    the state that the thread has reached.

    Raises:
        InputError: It is no input for the graph's state, or there is nothing to go on with.
        InterruptError: The answers fit no question.
        CheckpointError: What is kept cannot be read.
        CheckpointConflict: Somebody else goes on from there.
    """
    if settings.keeping is None:
        _check_fresh(given)
        return Run(plan, settings, beginning(begun_with(plan, given)))
    recorder = Recorder(settings.keeping)
    kept = await _standing(plan, settings, recorder, is_here=is_here)
    if given is not None and not is_command(given):
        return _begun(plan, settings, recorder, kept, given)
    if kept is None:
        raise InputError(
            problem=f"The thread {settings.keeping.thread_id!r} has no run to go on with",
            value=given,
            remedy="Begin one with an input.",
        )
    return await _resumed(plan, settings, recorder, kept, given, is_here=is_here)


async def open_inside(plan: Plan, settings: Settings, given: object, place: str, codec: Codec) -> Run:
    """The run of a graph that code inside of a node runs by itself, such as an agent that is a tool of another one.

    Where the run around it is kept, so is this one, under ``place`` in that node: taken up again, it goes on where it
    stopped, and what it asks is asked by the run around it.

    Raises:
        InputError: It is no input for the graph's state.
        CheckpointError: What is kept cannot be read.
    """
    runtime = current_runtime()
    around = None if runtime is None else cast("Keeping | None", runtime.keeping)
    if runtime is None or around is None:
        return Run(plan, replace(settings, keeping=None), beginning(begun_with(plan, given)))
    keeping = replace(around, codec=codec)
    recorder = Recorder.within(keeping, runtime.namespace, place=place)
    inside = replace(settings, keeping=keeping)
    kept = await recorder.load(plan, is_here=False)
    if kept is None:
        return Run(plan, inside, beginning(begun_with(plan, given)), recorder=recorder, asks_around=True)
    recorder.stand_on(kept)
    return Run.resumed(plan, inside, kept, recorder, asks_around=True)


def _check_fresh(given: object) -> None:
    if is_command(given):
        raise InterruptError(
            problem="A run that is not kept waits for no answer",
            value=given,
            remedy="Compile the graph with a checkpointer, and name the thread in the configuration.",
        )


async def _standing(plan: Plan, settings: Settings, recorder: Recorder, *, is_here: bool) -> Kept | None:
    """The checkpoint to begin from, with the recorder standing on it; None for a new thread."""
    kept = await recorder.load_named(plan, settings.checkpoint_id, is_here=is_here)
    if kept is None:
        return None
    newest = kept.row if settings.checkpoint_id is None else await recorder.newest(is_here=is_here)
    recorder.stand_on(kept, newest)
    return kept


def _begun(plan: Plan, settings: Settings, recorder: Recorder, kept: Kept | None, given: object) -> Run:
    if kept is None:
        return Run(plan, settings, beginning(begun_with(plan, given)), recorder=recorder)
    values = begun_with(plan, given, on=kept.snapshot.values)
    return Run(plan, settings, beginning(values, step=kept.snapshot.step), recorder=recorder)


async def _resumed(
    plan: Plan, settings: Settings, recorder: Recorder, kept: Kept, given: object, *, is_here: bool
) -> Run:
    questions = recorder.keeping.questions
    if not recorder.is_at_newest:
        if given is not None:
            raise InterruptError(
                problem=f"The checkpoint {kept.row.id!r} is not the newest of its thread",
                value=given,
                remedy="Go on from it with an input of None first, and answer what is asked then.",
            )
        await recorder.put(kept.snapshot, source="fork", wrote=(), is_here=is_here)
        return Run(plan, settings, kept.snapshot, recorder=recorder, source="step")
    answers = {} if given is None else _answers(cast("Command", given), kept, now=questions.now())
    questions.asked.update(kept.asked)
    questions.answers.update({**kept.answers, **answers})
    if kept.snapshot.tasks:
        await recorder.claim(kept.runs + 1, answers, is_here=is_here)
    return Run.resumed(plan, settings, kept, recorder)


def _answers(command: Command, kept: Kept, *, now: float) -> dict[str, Answer]:
    """The answers that a command gives, by the ids of the questions."""
    if command.resume is UNSET or command.update is not None or command.goto:
        raise InputError(
            problem="A command that a run begins with holds answers and nothing else",
            value=command,
            remedy="Pass Command(resume=…); update_state changes the state.",
        )
    by_id = _by_id(command.resume, {question.id: question for question in kept.open})
    for question, answer in by_id:
        check_answer(question, answer)
    return {question.id: Answer(value=answer, given_at=now) for question, answer in by_id}


def _by_id(given: Any, waiting: Mapping[str, Interrupt]) -> list[tuple[Interrupt, Any]]:
    ids: list[Any] = list(given) if isinstance(given, Mapping) else []  # pyright: ignore[reportUnknownArgumentType] - of any keys
    if not waiting:
        raise InterruptError(
            problem="The run waits for no answer", value=given, remedy="Pass None to go on, or an input to begin anew."
        )
    if ids and all(isinstance(id, str) and (id in waiting or _ID.fullmatch(id)) for id in ids):
        unknown = [id for id in ids if id not in waiting]
        if unknown:
            raise InterruptError(
                problem=f"No open question has the id {unknown[0]!r}", value=given, remedy=_listed(waiting)
            )
        return [(waiting[id], answer) for id, answer in cast("Mapping[str, Any]", given).items()]
    decisions = _decisions(given, waiting)
    if decisions is not None:
        return list(zip(waiting.values(), decisions, strict=True))
    if len(waiting) > 1:
        raise InterruptError(
            problem=f"The run waits for {len(waiting)} answers, and this one does not say to which question it belongs",
            value=given,
            remedy=f"Pass Command(resume={{id: answer}}), for some of them or for all. {_listed(waiting)}",
        )
    return [(next(iter(waiting.values())), given)]


def _decisions(given: Any, waiting: Mapping[str, Interrupt]) -> list[Any] | None:
    """LangChain's form of an answer to all open approvals, in their order; None where it is none."""
    decisions: Any = given.get("decisions") if is_object(given) and len(given) == 1 else None
    are_approvals = all(question.kind == "approval" for question in waiting.values())
    return list(decisions) if are_approvals and is_array(decisions) and len(decisions) == len(waiting) > 1 else None


def _listed(waiting: Mapping[str, Interrupt]) -> str:
    return f"The open questions are: {', '.join(waiting)}."
