"""A call's typed arguments, made anew wherever a body is to get its own."""

from __future__ import annotations

from surehand.arguments import ValidArguments, validate_arguments
from surehand.calls.call import Call
from surehand.calls.table import RegisteredTool

__all__ = ["typed"]


def typed(call: Call, tool: RegisteredTool) -> ValidArguments:
    """The call's arguments as typed values, none of them shared with the arguments or with an earlier result.

    Raises:
        InvalidArguments: They break the tool's schema.
        Exception: What a validator of the host's raises.
    """
    return validate_arguments(
        tool.spec.schema,
        call.arguments,
        tool=tool.spec.name,
        injected=tool.injected,
        strict=bool(tool.options.destructive),
    )
