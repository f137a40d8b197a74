"""C's numbers."""

from __future__ import annotations

import re

from metainfer.verify.static.tree import Literal, Place
from metainfer.verify.static.values import DOUBLE, FLOAT, INT, LONG, SIZE, UINT, CType

_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)([uU]?)([lL]{0,2})([uU]?)")


def literal(place: Place, text: str) -> Literal:
    """A number; an integer has the first type it fits (C11 6.4.4.1). The parser keeps a sign."""
    found = _INTEGER.fullmatch(text)
    if found is None:
        return Literal(place, None, FLOAT if text[-1:] in "fF" else DOUBLE)
    sign, digits, unsigned, long, after = found.groups()
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
    value = int(digits, 8 if octal else 0)
    types: tuple[CType, ...] = (LONG, SIZE) if long else (INT, UINT, LONG, SIZE)
    if unsigned or after:
        types = tuple(t for t in types if t.lo == 0)
    elif digits[0] != "0":
        types = tuple(t for t in types if t.lo < 0)
    type_ = next((t for t in types if value <= t.hi), SIZE)
    if sign == "-":
        value = -value if type_.lo < 0 else -value % (type_.hi + 1)
    return Literal(place, value, type_)
