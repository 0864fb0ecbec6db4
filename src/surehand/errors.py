"""Every error that Surehand raises.

    SurehandError
    ├── UsageError                 the host asked for something that makes no sense; raised where it enters
    │   ├── OptionError            an option has a value that cannot be meant          (also ValueError)
    │   ├── InputError             a state, turn or message list that cannot be used   (also ValueError)
    │   ├── ToolDefinitionError    a tool that cannot be built                         (also ValueError)
    │   ├── GraphDefinitionError   a graph that cannot be built                        (also ValueError)
    │   ├── InterruptError         a question that nobody could answer, or an answer to none (also ValueError)
    │   └── MissingExtraError      an optional package is not installed                (also ImportError)
    ├── RunError                   something went wrong while a call, node, graph or model ran
    │   ├── MalformedArguments     argument text that is not one JSON object           (also ValueError)
    │   ├── InvalidArguments       arguments that break the tool's schema              (also ValueError)
    │   ├── ToolException          raised by tool authors on purpose
    │   │   └── ModelRetry         the arguments are to be corrected by the model
    │   ├── ApprovalRequired       raised by a tool body: a human has to agree first
    │   ├── ToolCallError          a call failed without an exception of its own
    │   │   └── ToolTimedOut       it did not end in time                              (also TimeoutError)
    │   ├── ProcessDied            the process of a tool ended before it had answered
    │   ├── RemoteError            stands for an exception that could not leave a tool's process
    │   ├── ToolServerError        a server of tools could not be reached, or answered with an error of its own
    │   ├── NodeError              a node broke its contract
    │   ├── NodeTimedOut           a node did not end in time                          (also TimeoutError)
    │   ├── RoutingError           a graph was sent to a node it does not have
    │   ├── GraphRecursionError    a graph ran out of steps                            (also RecursionError)
    │   ├── InterruptExpired       a question that nobody answered in time             (also TimeoutError)
    │   ├── ModelError             a chat model could not be asked, or its reply not read
    │   └── ScriptExhausted        a scripted model was asked more often than it has replies
    └── StoreError                 a store could not read or write
        └── CheckpointError        what is stored of a run is damaged, foreign or cannot be stored
            └── CheckpointConflict another run has gone on with the thread meanwhile

Classes take fields and build their own message: what happened with the value, what was expected, what to do.
``str(error)`` is for the developer, ``error.for_model()`` for the model.
Every class has a stable ``code``; the documentation explains it under that heading.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from surehand.wording import clipped

__all__ = [
    "ApprovalRequired",
    "CheckpointConflict",
    "CheckpointError",
    "Complaint",
    "GraphDefinitionError",
    "GraphRecursionError",
    "InputError",
    "InterruptError",
    "InterruptExpired",
    "InvalidArguments",
    "MalformedArguments",
    "MissingExtraError",
    "ModelError",
    "ModelRetry",
    "NodeError",
    "NodeTimedOut",
    "OptionError",
    "ProcessDied",
    "RemoteError",
    "RoutingError",
    "RunError",
    "ScriptExhausted",
    "StoreError",
    "SurehandError",
    "ToolCallError",
    "ToolDefinitionError",
    "ToolException",
    "ToolServerError",
    "ToolTimedOut",
    "UsageError",
    "shown",
]


def shown(value: object, limit: int = 80) -> str:
    """The value's repr, at most ``limit`` characters long, for use in a message; never raises."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a broken __repr__ of the host's object must not hide the real error
        text = f"<{type(value).__name__}, repr failed>"
    return clipped(text, limit)


class SurehandError(Exception):
    """The root of every error that Surehand raises."""

    code: ClassVar[str] = "surehand_error"
    """A stable, machine-readable name of the class."""

    def for_model(self) -> str:
        """What a model may be told: no stack, no secret, no injected argument."""
        return str(self)


class _Fielded(SurehandError):
    """Errors with fields; they pickle whatever constructor a subclass has."""

    def __init__(self, message: str, /, **fields: Any) -> None:
        super().__init__(message)
        for name, value in fields.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(cls: type[_Fielded], args: tuple[Any, ...], fields: dict[str, Any]) -> _Fielded:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class UsageError(_Fielded):
    """The host asked for something that makes no sense; raised where it enters."""

    code = "usage_error"


class OptionError(UsageError, ValueError):
    """An option has a value that cannot be meant."""

    code = "option_error"

    option: str
    value: Any
    expected: str

    def __init__(self, *, option: str, value: Any, expected: str, remedy: str = "") -> None:
        message = f"{option}={shown(value)} is not usable: expected {expected}."
        super().__init__(f"{message} {remedy}".rstrip(), option=option, value=value, expected=expected, remedy=remedy)


class InputError(UsageError, ValueError):
    """A state, a turn or a list of messages that cannot be used."""

    code = "input_error"

    value: Any
    problem: str
    remedy: str

    def __init__(self, *, problem: str, value: Any, remedy: str) -> None:
        super().__init__(f"{problem}, got {shown(value)}. {remedy}", problem=problem, value=value, remedy=remedy)


class ToolDefinitionError(UsageError, ValueError):
    """A tool that cannot be built: no name, an unusable annotation, two tools of one name."""

    code = "tool_definition_error"

    tool: str
    problem: str
    remedy: str

    def __init__(self, *, tool: str, problem: str, remedy: str) -> None:
        super().__init__(f"Tool {tool!r}: {problem}. {remedy}", tool=tool, problem=problem, remedy=remedy)


class GraphDefinitionError(UsageError, ValueError):
    """A graph that cannot be built: unknown nodes, no entry, a state that is no state."""

    code = "graph_definition_error"

    problem: str
    remedy: str

    def __init__(self, *, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}. {remedy}", problem=problem, remedy=remedy)


class InterruptError(UsageError, ValueError):
    """A question that nobody could ever answer, or an answer that fits no question."""

    code = "interrupt_error"

    value: Any
    problem: str
    remedy: str

    def __init__(self, *, problem: str, value: Any, remedy: str) -> None:
        super().__init__(f"{problem}, got {shown(value)}. {remedy}", problem=problem, value=value, remedy=remedy)


class MissingExtraError(UsageError, ImportError):
    """An optional package is not installed."""

    code = "missing_extra"

    package: str
    extra: str

    def __init__(self, *, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'surehand[{extra}]'",
            feature=feature,
            package=package,
            extra=extra,
        )


class RunError(_Fielded):
    """Something went wrong while a call, a node, a graph or a model ran."""

    code = "run_error"


class MalformedArguments(RunError, ValueError):
    """Argument text that is not exactly one JSON object, not even after the lossless relaxations."""

    code = "malformed_arguments"

    reason: str
    """What is wrong, as a clause: ``the text ends inside a string``."""
    position: int | None
    """Offset of the fault in characters from the start of the text; None where no single spot is at fault."""
    excerpt: str
    """At most 80 characters of the text around the fault."""
    length: int
    """Length of the whole text in characters."""
    is_cut_off: bool
    """Whether the text ends before its value does, as after an output limit."""

    def __init__(
        self,
        *,
        reason: str,
        position: int | None = None,
        excerpt: str = "",
        length: int = 0,
        is_cut_off: bool = False,
    ) -> None:
        spot = "" if position is None else f"at character {position} of {length}"
        near = f"near {excerpt!r}" if excerpt else ""
        where = ", ".join(part for part in (spot, near) if part)
        super().__init__(
            f"The arguments are not one JSON object: {reason}{f' ({where})' if where else ''}.",
            reason=reason,
            position=position,
            excerpt=excerpt,
            length=length,
            is_cut_off=is_cut_off,
        )

    def for_model(self) -> str:
        """The fault, its spot, and what to send instead."""
        remedy = (
            "The call was cut off. Send it again, complete and shorter."
            if self.is_cut_off
            else "Send the call again with one complete JSON object as its arguments."
        )
        return f"{self} Nothing was executed. {remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One thing that is wrong with the arguments of a call."""

    path: str
    """Where, as a JSON path that starts at ``$``; ``$`` alone is the whole object."""
    problem: str
    """What is wrong, as a sentence without a full stop: ``expected an integer, got the text 'abc'``."""
    rule: str
    """The broken rule's machine-readable name: pydantic's error type, a JSON Schema keyword or ``unknown_argument``."""
    is_authors: bool = field(default=False, repr=False)
    """Whether a validator of the schema's author has worded the problem."""

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class InvalidArguments(RunError, ValueError):
    """Arguments that break the tool's schema; all complaints at once."""

    code = "invalid_arguments"

    tool: str
    complaints: tuple[Complaint, ...]
    hint: str
    """One sentence about the arguments the tool takes; may be empty."""

    def __init__(self, *, tool: str, complaints: Sequence[Complaint], hint: str = "") -> None:
        lines = "\n".join(f"- {complaint}" for complaint in complaints)
        tail = f"\n{hint}" if hint else ""
        super().__init__(
            f"Invalid arguments for tool {tool!r}:\n{lines}{tail}", tool=tool, complaints=tuple(complaints), hint=hint
        )

    def for_model(self) -> str:
        """Every complaint with its path, and what to do."""
        return f"{self}\nNothing was executed. Correct the arguments and call the tool again."


class ToolException(RunError):
    """Raised by a tool's author to say, in words meant for the model, that the call failed.

    Args:
        message: Goes to the model word for word.
        retryable: The author's word that nothing happened: the call may be run again by the retry policy.
        retry_after: Seconds to wait before the next attempt; None leaves it to the policy. Where the tool may run
            twice, it is taken as the author's word that the failure passes.
        artifact: Stands on the tool message as it is; no model sees it. None for nothing.
    """

    code = "tool_error"

    retryable: bool = False
    retry_after: float | None = None
    artifact: Any = None

    def __init__(
        self, message: str = "", *, retryable: bool = False, retry_after: float | None = None, artifact: Any = None
    ) -> None:
        super().__init__(message, message=message, retryable=retryable, retry_after=retry_after)
        if artifact is not None:
            self.artifact = artifact


class ModelRetry(ToolException):
    """Raised by a tool's author: the arguments are to be corrected by the model; never retried without it."""

    code = "model_retry"

    def __init__(self, message: str) -> None:
        RunError.__init__(self, message, message=message)
        self.retryable = False
        self.retry_after = None


class ApprovalRequired(RunError):
    """Raised by a tool body before it acts: a human has to agree first.

    Once somebody has agreed, the body runs again, with a ``ToolContext`` whose ``is_approved`` is true.
    """

    code = "approval_required"

    reason: str
    metadata: dict[str, Any]

    def __init__(self, reason: str = "This call needs a human's approval.", **metadata: Any) -> None:
        super().__init__(reason, reason=reason)
        self.metadata = metadata


class ToolCallError(RunError):
    """A call failed without an exception of its own, such as a timeout, and its failures are to be raised."""

    code = "tool_call_error"

    call_id: str
    tool: str
    kind: str

    def __init__(self, *, call_id: str, tool: str, kind: str, text: str) -> None:
        super().__init__(
            f"The call {call_id!r} of tool {tool!r} failed ({kind}): {text}",
            call_id=call_id,
            tool=tool,
            kind=kind,
            text=text,
        )


class ToolTimedOut(ToolCallError, TimeoutError):
    """A call did not end in time, and its failures are to be raised."""

    code = "tool_timed_out"


class ProcessDied(RunError):
    """The process that a tool had to itself ended before it had answered; what it did may have happened in part."""

    code = "process_died"

    tool: str
    exit_code: int
    """As ``subprocess`` has it: the number of a signal is negative."""

    def __init__(self, *, tool: str, exit_code: int) -> None:
        super().__init__(
            f"The process of tool {tool!r} {_end_of_process(exit_code)} before it had answered.",
            tool=tool,
            exit_code=exit_code,
        )


def _end_of_process(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended itself with exit code {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was ended by the signal {-exit_code}"


class RemoteError(RunError):
    """Stands for an exception that could not leave the process of a tool; its class has that exception's name.

    What the exception said in plain values, such as ``status_code``, are attributes here too.
    """

    code = "remote_error"

    traceback_text: str
    """Where it was raised, as text."""

    def __init__(self, message: str, *, traceback_text: str = "") -> None:
        super().__init__(message, traceback_text=traceback_text)


class ToolServerError(RunError):
    """A server of tools could not be reached, or answered a request with an error of the protocol: nothing was run."""

    code = "tool_server_error"

    server: str
    problem: str
    remedy: str
    retryable: bool
    """Whether the same request may succeed a little later."""
    retry_after: float | None
    """Seconds until the server is tried again; None where nobody says."""

    def __init__(
        self,
        *,
        server: str,
        problem: str,
        remedy: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(
            f"The tool server {server!r} {problem}. {remedy}".rstrip(),
            server=server,
            problem=problem,
            remedy=remedy,
            retryable=retryable,
            retry_after=retry_after,
        )


class NodeError(RunError):
    """A node broke its contract: it read or wrote a key it may not, or returned what is no update."""

    code = "node_error"

    node: str
    problem: str
    remedy: str

    def __init__(self, *, node: str, problem: str, remedy: str) -> None:
        super().__init__(f"Node {node!r}: {problem}. {remedy}", node=node, problem=problem, remedy=remedy)


class NodeTimedOut(RunError, TimeoutError):
    """A node did not end in time."""

    code = "node_timed_out"

    node: str
    timeout: float
    """Seconds."""

    def __init__(self, *, node: str, timeout: float) -> None:
        super().__init__(
            f"Node {node!r} did not end within {timeout:g} s. What it did so far may have happened.",
            node=node,
            timeout=timeout,
        )


class RoutingError(RunError):
    """A graph was sent to a node it does not have."""

    code = "routing_error"

    source: str
    target: Any
    known: tuple[str, ...]

    def __init__(self, *, source: str, target: Any, known: Sequence[str]) -> None:
        super().__init__(
            f"Node {source!r} leads to {shown(target)}, which is no node of this graph. "
            f"Expected one of: {', '.join(known)}.",
            source=source,
            target=target,
            known=tuple(known),
        )


class GraphRecursionError(RunError, RecursionError):
    """A graph ran out of steps; ``state`` is what was reached."""

    code = "graph_recursion_limit"

    limit: int
    state: Any

    def __init__(self, *, limit: int, state: Any = None) -> None:
        super().__init__(
            f"The graph did not end within {limit} steps. Look for a loop without an exit, "
            f"or raise the limit with config={{'recursion_limit': …}}.",
            limit=limit,
            state=state,
        )


class InterruptExpired(RunError, TimeoutError):
    """A question that nobody answered in time."""

    code = "interrupt_expired"

    question: Any
    expired_at: float
    """Seconds since the epoch."""

    def __init__(self, *, question: Any, expired_at: float) -> None:
        super().__init__(
            f"Nobody answered in time: {shown(question)}. Ask again if the answer still matters.",
            question=question,
            expired_at=expired_at,
        )


class ModelError(RunError):
    """A chat model could not be asked, or its reply could not be read."""

    code = "model_error"

    model: str
    problem: str
    remedy: str
    status_code: int | None = None
    """The provider's HTTP status; None where there is none."""
    state: Any = None
    """What an agent had reached when its model failed, its messages so far included; None outside an agent."""

    def __init__(self, *, model: str, problem: str, remedy: str) -> None:
        super().__init__(f"Model {model!r}: {problem}. {remedy}", model=model, problem=problem, remedy=remedy)


class ScriptExhausted(RunError, AssertionError):
    """A scripted model was asked more often than it has replies."""

    code = "script_exhausted"

    replies: int

    def __init__(self, *, replies: int) -> None:
        super().__init__(
            f"The script has {replies} replies and was asked for one more. Add a reply, or ask less.", replies=replies
        )


class StoreError(_Fielded):
    """A store could not read or write."""

    code = "store_error"

    problem: str
    remedy: str

    def __init__(self, *, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}. {remedy}", problem=problem, remedy=remedy)


class CheckpointError(StoreError):
    """What is stored of a run is damaged, was written by something else, or cannot be stored."""

    code = "checkpoint_error"

    thread_id: str
    where: str
    """What was read or written: a checkpoint, a key of the state, a call."""

    def __init__(self, *, problem: str, remedy: str, thread_id: str = "", where: str = "") -> None:
        place = ", ".join(filter(None, [f"thread {thread_id!r}" if thread_id else "", where]))
        super().__init__(problem=f"{place}: {problem}" if place else problem, remedy=remedy)
        self.thread_id, self.where = thread_id, where


class CheckpointConflict(CheckpointError):
    """Another run has gone on with the thread meanwhile; what this one did since is not part of it."""

    code = "checkpoint_conflict"

    def __init__(self, *, thread_id: str, where: str = "") -> None:
        super().__init__(
            problem="another run has gone on with the thread meanwhile",
            remedy="Read the state again, and run from there if there is still something to do.",
            thread_id=thread_id,
            where=where,
        )
