"""What must not leave with a text: secrets by value, by name and by shape, places of the host."""

from surehand.calls.redaction.names import is_secret_name
from surehand.calls.redaction.redactor import Redactor
from surehand.calls.redaction.secrets import secret_texts
from surehand.calls.redaction.shapes import REDACTED

__all__ = [
    "REDACTED",
    "Redactor",
    "is_secret_name",
    "secret_texts",
]
