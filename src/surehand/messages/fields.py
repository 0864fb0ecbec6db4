"""Messages as fields of pydantic models."""

from __future__ import annotations

from pydantic_core import PydanticCustomError, core_schema

from surehand.errors import InputError
from surehand.messages.base import Message, _field_schemas  # pyright: ignore[reportPrivateUsage] - one family of modules
from surehand.messages.coercion import convert_to_messages
from surehand.messages.stored import message_to_dict

__all__ = ["core_schema_of"]


def core_schema_of(kind: type[Message]) -> core_schema.CoreSchema:
    """Accepts a message of the kind, or whatever converts to one; its JSON is the stored form."""

    def read(value: object) -> Message:
        if isinstance(value, kind):
            return value
        try:
            messages = convert_to_messages(value)
        except InputError as error:
            raise PydanticCustomError("message", "{problem}", {"problem": str(error)}) from error
        if len(messages) == 1 and isinstance(messages[0], kind):
            return messages[0]
        raise PydanticCustomError("message", "expected one {kind}", {"kind": kind.__name__})

    dump = core_schema.plain_serializer_function_ser_schema(message_to_dict, when_used="json")
    return core_schema.no_info_plain_validator_function(read, serialization=dump)


_field_schemas.append(core_schema_of)
