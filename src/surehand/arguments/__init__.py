"""From what a model sent to typed arguments: coercion, validation, complaints."""

from surehand.arguments.complaints import MAX_COMPLAINTS, MAX_PROBLEM
from surehand.arguments.parsing import parse_arguments
from surehand.arguments.validation import ValidArguments, validate_arguments
from surehand.errors import Complaint, InvalidArguments, MalformedArguments
from surehand.grammar import ParsedArguments

__all__ = [
    "MAX_COMPLAINTS",
    "MAX_PROBLEM",
    "Complaint",
    "InvalidArguments",
    "MalformedArguments",
    "ParsedArguments",
    "ValidArguments",
    "parse_arguments",
    "validate_arguments",
]
