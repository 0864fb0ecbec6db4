"""What a model is told of an exception whose words were not meant for it."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import ValidationError

from surehand.arguments.paths import json_path
from surehand.calls.redaction import Redactor
from surehand.calls.results import MAX_LISTED, listed, shorten, well_formed, without_links
from surehand.shapes import leaf_errors
from surehand.wording import one_line

__all__ = ["MAX_DESCRIPTION", "MAX_READ", "describe_exception"]

MAX_DESCRIPTION: Final = 2_000
"""The most characters of an exception that a model is told."""
MAX_READ: Final = 200_000
"""The most characters of a message that are searched; of a longer one the head and the tail."""
_PLAIN_WORDS: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (TimeoutError, "it took too long"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionError, "the connection failed"),
    (FileNotFoundError, "a file was not found"),
    (PermissionError, "permission was denied"),
    (KeyError, "a key was not found"),
    (IndexError, "a position is out of range"),
    (NotImplementedError, "this is not supported"),
    (AssertionError, "an internal check failed"),
    (ZeroDivisionError, "a division by zero"),
    (MemoryError, "there was not enough memory"),
    (RecursionError, "the computation went too deep"),
    (StopIteration, "there was nothing left to read"),
    (StopAsyncIteration, "there was nothing left to read"),
)
"""What to say where an exception says nothing; the first type that fits."""


def describe_exception(error: BaseException, redactor: Redactor) -> str:
    """``ClassName: message`` for a model: redacted, bounded, never blank, never a traceback; never raises.

    Of an exception group it describes the causes, not the group. An exception's ``__cause__`` and its notes are the
    developer's, and left out.
    """
    leaves = leaf_errors(error)
    told = [_described(leaf, redactor) for leaf in leaves[:MAX_LISTED]]
    return shorten(listed(told, total=len(leaves)), MAX_DESCRIPTION, advice="")


def _described(error: BaseException, redactor: Redactor) -> str:
    name = one_line(type(error).__name__)
    message = well_formed(without_links(_message(error))).strip()
    if len(message) > MAX_READ:
        message = f"{message[: MAX_READ // 2]} … {message[-MAX_READ // 2 :]}"
    message = redactor.text(message).strip()
    if not message:
        return f"{name}: {_plain_words(error)}."
    return shorten(f"{name}: {message}", MAX_DESCRIPTION, advice="")


def _message(error: BaseException) -> str:
    try:
        if isinstance(error, KeyError) and len(error.args) == 1:
            return _missing_key(error.args[0])
        if isinstance(error, ValidationError):
            return _without_inputs(error)
        if _is_of_jsonschema(error):
            return _without_instance(error)
        return str.__str__(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - the exception's own code, which may also want to end the program
        return "its message could not be read"


def _without_inputs(error: ValidationError) -> str:
    """What is wrong where, without the values: they are no arguments of the model's, which are checked before."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}".removeprefix(": ") for problem in problems]
    plural = "" if len(problems) == 1 else "s"
    return "\n".join((f"{len(problems)} validation error{plural} for {error.title}", *lines))


def _is_of_jsonschema(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in ("jsonschema", "jsonschema_rs") and hasattr(error, "instance")


def _without_instance(error: Any) -> str:
    """The same of ``jsonschema`` and ``jsonschema_rs``, whose texts go on with the whole schema and the whole value."""
    message, value = str(error.message), error.instance
    for written in (repr(value), json.dumps(value, ensure_ascii=False, separators=(",", ":"))):
        if message.startswith(written):
            message = f"the value{message[len(written) :]}"
        elif message.endswith(written):
            message = f"{message[: -len(written)]}the value"
    place = error.json_path if hasattr(error, "json_path") else json_path(error.instance_path)
    return f"{place}: {message}"


def _missing_key(key: object) -> str:
    """``KeyError('x')`` says only ``'x'``; a sentence as the key is a message already."""
    if isinstance(key, str) and " " in key.strip():
        return str.__str__(key)
    return "" if key == "" else f"the key {key!r} was not found"


def _plain_words(error: BaseException) -> str:
    for kind, words in _PLAIN_WORDS:
        if isinstance(error, kind):
            return words
    return "it gave no further details"
