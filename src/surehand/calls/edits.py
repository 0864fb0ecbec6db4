"""What a human makes of the arguments of a call: checked by the tool's own schema, and nothing in it is guessed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from surehand.arguments import ValidArguments, validate_arguments
from surehand.calls.journal import digest_of
from surehand.errors import InterruptError, InvalidArguments
from surehand.interrupts import is_signal
from surehand.spec import ToolSpec

__all__ = ["Edits"]


class Edits:
    """Checks the edits of one tool's calls.

    Args:
        spec: The tool.
        injected: Names of parameters that the host fills.
    """

    def __init__(self, spec: ToolSpec, injected: Collection[str]) -> None:
        self._spec = spec
        self._injected = injected

    @cached_property
    def digest(self) -> str:
        """Of the tool's name and its schema, as a model is shown them."""
        return digest_of([self._spec.name, self._spec.schema.json_schema])

    def typed(self, arguments: Mapping[str, Any]) -> ValidArguments:
        """The arguments as typed values.

        Raises:
            InvalidArguments: They break the schema, or hold a name that it does not know.
            Exception: What a validator of the host's raises.
        """
        return validate_arguments(
            self._spec.schema, arguments, tool=self._spec.name, injected=self._injected, strict=True
        )

    def check(self, arguments: Mapping[str, Any], /) -> None:
        """Do nothing where the tool takes the arguments.

        Raises:
            InterruptError: It does not.
        """
        try:
            self.typed(arguments)
        except InvalidArguments as error:
            problem = "; ".join(map(str, error.complaints))
        except BaseException as error:  # a validator of the host's: what it cannot check must not be kept
            if is_signal(error):
                raise
            problem = f"they could not be checked ({type(error).__name__})"
        else:
            return
        raise InterruptError(
            problem=f"The tool {self._spec.name!r} does not take the edited arguments: {problem}",
            value=dict(arguments),
            remedy="Answer with arguments that fit its schema.",
        )
