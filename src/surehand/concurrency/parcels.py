"""What goes into the process of a tool and what comes out of it, pickled.

Pickles name classes by their module. The program's main script is another module in a child, which loads it under
another name: so it is noted whether a child needs it, and what comes back under that name is found here.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, cast

from surehand.concurrency.child import MAIN_AGAIN
from surehand.concurrency.targets import MAIN, ProcessTarget
from surehand.errors import RemoteError, ToolDefinitionError
from surehand.shapes import leaf_errors

__all__ = ["main_module", "packed_request", "rebuilt", "unpickled", "why_left_behind"]


class _Packer(pickle.Pickler):
    """Notes whether anything refers to the program's main script."""

    has_main = False

    def reducer_override(self, obj: Any) -> Any:
        if getattr(obj, "__module__", None) == MAIN:
            self.has_main = True
        return NotImplemented


def packed_request(target: ProcessTarget, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[bytes, bool]:
    """The arguments, pickled, and whether the child needs the program's main script."""
    written = BytesIO()
    packer = _Packer(written)
    try:
        packer.dump((tuple(args), kwargs))
    except Exception as error:
        named = {**{f"number {number}": value for number, value in enumerate(args, 1)}, **kwargs}
        name = next((name for name, value in named.items() if why_left_behind(value) is not None), "?")
        raise ToolDefinitionError(
            tool=target.tool,
            problem=f"its argument {name!r} cannot be taken to a process of its own ({error})",
            remedy="Give it plain data, or leave isolation='process' out.",
        ) from error
    return written.getvalue(), packer.has_main or target.module == MAIN


def why_left_behind(value: Any) -> str | None:
    """Why a value cannot be taken to another process; None for one that can."""
    try:
        pickle.dumps(value)
    except Exception as error:  # noqa: BLE001 - the value's own code
        return str(error) or type(error).__name__
    return None


def main_module() -> tuple[str | None, str | None]:
    """By what the program's main script is loaded again: its name as a module, or its path."""
    main = sys.modules[MAIN]
    spec = getattr(main, "__spec__", None)
    return (None, getattr(main, "__file__", None)) if spec is None else (spec.name, None)


class _Unpacker(pickle.Unpickler):
    """Finds in our main script what a child calls by the name under which it runs it."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        return super().find_class(MAIN if module_name == MAIN_AGAIN else module_name, global_name)


def unpickled(packed: bytes) -> Any:
    """What a child has sent.

    Raises:
        Exception: Its class is not to be found here, or its own code fails.
    """
    return _Unpacker(BytesIO(packed)).load()


def rebuilt(chain: Sequence[Mapping[str, Any]], traceback_text: str) -> BaseException:
    """The exception of a child with what it was raised from."""
    cause: BaseException | None = None
    for link in reversed(chain):
        error = _rebuilt_link(link, traceback_text)
        error.__cause__ = cause
        cause = error
    error = cause or RemoteError("", traceback_text=traceback_text)
    if traceback_text:
        error.add_note(f"In its process:\n{traceback_text}")
    return error


def _rebuilt_link(link: Mapping[str, Any], traceback_text: str) -> BaseException:
    classes: list[tuple[str, str]] = list(link["classes"])
    with contextlib.suppress(Exception):  # its class may not be found here
        if link["pickled"] is not None:
            error = cast("BaseException", unpickled(link["pickled"]))
            if not _would_end_us(error):
                return error
            classes = [("builtins", type(error).__name__)]
    # A class of the same name and descent, so that whoever goes by names, as models and retry policies do, knows it.
    kind: type[RemoteError] = RemoteError
    for module, name in reversed(classes):
        kind = cast("type[RemoteError]", type(name, (kind,), {"__module__": module}))
    error = kind(link["message"], traceback_text=traceback_text)
    for name, value in link["fields"].items():
        if not hasattr(error, name):
            setattr(error, name, value)
    return error


def _would_end_us(error: BaseException) -> bool:
    """Whether the exception, raised here, would be meant for this program; its process was one of its own."""
    return any(isinstance(leaf, KeyboardInterrupt | GeneratorExit) for leaf in leaf_errors(error))
