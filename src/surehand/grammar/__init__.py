"""Text to object: lossless, or refused."""
from surehand.grammar._doors import ParsedArguments, parse_arguments, parse_value
from surehand.grammar._numbers import ExactFloat
from surehand.grammar.limits import MAX_DEPTH, MAX_DIGITS, MAX_LENGTH
from surehand.grammar.relaxations import RELAXATIONS

__all__ = ["MAX_DEPTH", "MAX_DIGITS", "MAX_LENGTH", "RELAXATIONS", "ExactFloat", "ParsedArguments", "parse_arguments", "parse_value"]
