"""The argument grammar: text to object, without loss or not at all.

A model sends the arguments of a call as text. Nearly always that text is JSON; the rest is Python's way to write a
dict, a fence round it, a comment, a line break that was not escaped, and now and then half a text, a sum or a
sentence. Two things can go wrong then. To refuse what has only one meaning costs a round trip. To accept what has
none, or two, runs a call that nobody meant, and that is worse by far. Libraries that repair JSON close what was cut
off, quote bare words and choose between values: of the cuts through real calls they turn more than a quarter into
valid calls.

So there is a closed list of relaxations (`surehand.grammar.relaxations`), each of which loses nothing, and a rule for
all of them: there must be one reading. Never is a string or a bracket closed, an expression worked out, a bare word
quoted, a value dropped or one of several objects preferred. Each relaxation used is named in
`ParsedArguments.repairs`.

Two passes:

1. `_plain`: the standard library reads what is JSON already, and hooks catch what it would let through (keys that
   repeat, NaN, numbers past the largest float). Plain JSON comes out as it is; this is the fast way and says only yes
   or no.
2. `_documents`: takes off what may stand round the value, and `_scanner` reads it by the relaxed grammar. This pass
   alone knows why a text is refused. The scanner does not recurse, and works in linear time whatever it is given.

What would change our mind about an item of the list: one real text that it reads as something that was not meant.
"""

from __future__ import annotations

from surehand.grammar._doors import ParsedArguments, parse_arguments, parse_value
from surehand.grammar._kinds import same_value
from surehand.grammar._numbers import ExactFloat
from surehand.grammar.limits import MAX_DEPTH, MAX_DIGITS, MAX_LENGTH
from surehand.grammar.relaxations import RELAXATIONS

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "MAX_LENGTH",
    "RELAXATIONS",
    "ExactFloat",
    "ParsedArguments",
    "parse_arguments",
    "parse_value",
    "same_value",
]
