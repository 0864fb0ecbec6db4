"""The closed list of what the grammar forgives, as the words that `ParsedArguments.repairs` holds.

The words are stable: they go into events, journals and logs. `RELAXATIONS` has all of them in this order.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BACKSLASH_ESCAPED",
    "BYTE_ORDER_MARK",
    "CALL_TAGS",
    "CODE_FENCE",
    "COMMENTS",
    "CONTROL_CHARACTERS",
    "CURLY_QUOTES",
    "EMPTY_OBJECT_BESIDE",
    "FULL_WIDTH",
    "LITERAL_LINE_BREAKS",
    "LOOSE_NUMBERS",
    "NO_ARGUMENTS",
    "PYTHON_WORDS",
    "RELAXATIONS",
    "REPEATED_KEYS",
    "REPEATED_OBJECT",
    "SINGLE_ITEM_LIST",
    "SINGLE_QUOTES",
    "STRING_ENCODED",
    "SURPLUS_CLOSERS",
    "TRAILING_COMMAS",
    "TUPLES",
    "UNKNOWN_ESCAPES",
    "UNQUOTED_KEYS",
]

NO_ARGUMENTS: Final = "no_arguments"
"""Nothing, blank text or null is the empty object: what most providers send for a tool without parameters."""

BYTE_ORDER_MARK: Final = "byte_order_mark"
"""A mark at the start that says how the text was encoded."""

CODE_FENCE: Final = "code_fence"
"""A Markdown fence round the object, whatever its info string; its end may be missing."""

CALL_TAGS: Final = "call_tags"
"""The marks by which text-mode models announce a call, such as ``<tool_call>``; the last may be missing or cut."""

STRING_ENCODED: Final = "string_encoded"
"""The object as the content of a string, at most twice over."""

BACKSLASH_ESCAPED: Final = "backslash_escaped"
"""The same without the outer quotes: every quote of the text has a backslash before it."""

CONTROL_CHARACTERS: Final = "control_characters"
"""Line breaks, tabs and other control characters as they are inside a string."""

UNKNOWN_ESCAPES: Final = "unknown_escapes"
"""A backslash that starts no escape of JSON stays in the text: ``\\d`` is ``\\d``. Only ``\\'`` is an apostrophe."""

SINGLE_QUOTES: Final = "single_quotes"
"""Strings in single quotes, read as Python reads them."""

CURLY_QUOTES: Final = "curly_quotes"
"""Strings in curly quotes, opened and closed by the two of one pair, with no other quotes inside."""

FULL_WIDTH: Final = "full_width"
"""The full-width forms of quotes, brackets, colon and comma between values, as in Chinese and Japanese text."""

PYTHON_WORDS: Final = "python_words"
"""None, True and False."""

TUPLES: Final = "tuples"
"""A tuple is a list. Parentheses round a single value are none and stay refused."""

LOOSE_NUMBERS: Final = "loose_numbers"
"""A plus sign before a number, and a decimal point without a digit before it."""

UNQUOTED_KEYS: Final = "unquoted_keys"
"""Identifiers as keys. Words as values stay refused."""

TRAILING_COMMAS: Final = "trailing_commas"
"""One comma before a closing bracket."""

COMMENTS: Final = "comments"
"""``//``, ``#`` and ``/* */`` where they can be nothing but comments."""

LITERAL_LINE_BREAKS: Final = "literal_line_breaks"
"""The two characters ``\\n`` (or ``\\t``, ``\\r``) between values, from models that escape once too often."""

SURPLUS_CLOSERS: Final = "surplus_closers"
"""Closing brackets after a complete object."""

REPEATED_KEYS: Final = "repeated_keys"
"""A key twice in one object, both times with the same value."""

REPEATED_OBJECT: Final = "repeated_object"
"""The same object several times in a row, as some gateways put it together from a stream."""

EMPTY_OBJECT_BESIDE: Final = "empty_object_beside"
"""``{}`` before or after the object."""

SINGLE_ITEM_LIST: Final = "single_item_list"
"""A list whose only item is the object."""

RELAXATIONS: Final[tuple[str, ...]] = (
    NO_ARGUMENTS,
    BYTE_ORDER_MARK,
    CODE_FENCE,
    CALL_TAGS,
    STRING_ENCODED,
    BACKSLASH_ESCAPED,
    CONTROL_CHARACTERS,
    UNKNOWN_ESCAPES,
    SINGLE_QUOTES,
    CURLY_QUOTES,
    FULL_WIDTH,
    PYTHON_WORDS,
    TUPLES,
    LOOSE_NUMBERS,
    UNQUOTED_KEYS,
    TRAILING_COMMAS,
    COMMENTS,
    LITERAL_LINE_BREAKS,
    SURPLUS_CLOSERS,
    REPEATED_KEYS,
    REPEATED_OBJECT,
    EMPTY_OBJECT_BESIDE,
    SINGLE_ITEM_LIST,
)
"""Every word that `ParsedArguments.repairs` can hold."""
