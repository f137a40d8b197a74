"""Numbers and units: exact values, and the unit that a key is measured in."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from metainfer.ir.diagnostics import did_you_mean
from metainfer.ir.units import UNITS
from metainfer.spec.cursor import Cursor, Slip, slip
from metainfer.spec.vocabulary import QUANTITY_NAMES, Key, Quantity, units_of
from metainfer.spec.words import Word

MAX_NUMBER = 2**63 - 1
CLAUSE_WORDS = ("vs", "except")
"""Names that may follow a number and are no unit."""


def read_count(cursor: Cursor) -> int:
    """A whole number from 1 on."""
    word = cursor.expect("number", "a number")
    value, _ = _fit(_exact(word), None, word, word, fractional=False)
    assert isinstance(value, int)
    return value


def read_amount(key: Key, cursor: Cursor) -> tuple[int | float, str | None]:
    """A number and its unit; a broken number comes in a smaller unit where that makes it whole."""
    first = cursor.expect("number", "a number")
    number, unit = _exact(first), _unit(cursor)
    if unit is not None:
        _check_unit(key.quantity, cursor.key, unit)
    elif key.quantity:
        units = units_of(key.quantity)
        raise Slip(
            f"'{cursor.key.text}' needs a unit: {', '.join(units)}",
            cursor.key,
            first,
            f"write {first.text} {units[0]}" if len(units) == 1 else None,
        )
    name = unit.text if unit else None
    return _fit(number, name, first, unit or first, fractional=key.fractional)


def read_amounts(key: Key, cursor: Cursor) -> Iterator[tuple[int | float, str | None]]:
    """Numbers with commas between; the unit of each says which quantity it is."""
    seen: set[str] = set()
    while True:
        first = cursor.expect("number", "a number")
        unit = _unit(cursor)
        allowed = [u for quantity in key.quantities for u in units_of(quantity)]
        if unit is None or unit.text not in allowed:
            near = did_you_mean(unit.text, allowed) if unit else None
            raise slip(
                f"'{first.text}' needs a unit: {', '.join(allowed)}", unit or first, help=near
            )
        kind = UNITS[unit.text][0]
        if kind in seen:
            raise Slip(f"{QUANTITY_NAMES[_quantity(kind)]} is given twice", first, unit)
        seen.add(kind)
        yield _fit(_exact(first), unit.text, first, unit, fractional=False)
        if cursor.take_if(",") is None:
            return


def read_list(key: Key, words: tuple[Word, ...]) -> tuple[tuple[int, ...], str | None]:
    """Falling whole numbers with commas between; the unit of `key` may follow each."""
    cursor = Cursor(words)
    cursor.at = 0
    found: list[int] = []
    while True:
        number = cursor.peek()
        if number is None or number.kind != "number":
            raise slip("expected a number", number or words[-1])
        value = read_count(cursor)
        if found and value >= found[-1]:
            raise slip(f"the values of a degrade fall: {value} follows {found[-1]}", number)
        found.append(value)
        if key.quantity:
            cursor.take_if(key.quantity)
        if cursor.take_if(",") is None:
            cursor.end()
            return tuple(found), key.quantity


def _quantity(kind: str) -> Quantity:
    return next(quantity for quantity in QUANTITY_NAMES if quantity == kind)


def _unit(cursor: Cursor) -> Word | None:
    word = cursor.peek()
    if word is None or word.kind != "name" or word.text in CLAUSE_WORDS:
        return None
    return cursor.take()


def _exact(word: Word) -> Fraction:
    """The number as written; the length is bounded, since `1e999999999` would not fit anywhere."""
    text, thousand = word.text.removesuffix("k"), word.text.endswith("k")
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > 40 or (exponent and abs(int(exponent[:8])) > 40):
        raise slip("this number is out of range", word)
    return Fraction(text) * (1000 if thousand else 1)


def _check_unit(quantity: Quantity | None, key: Word, unit: Word) -> None:
    wanted = units_of(quantity) if quantity else []
    if unit.text not in UNITS:
        hint = did_you_mean(unit.text, wanted) or (f"one of {', '.join(wanted)}" if wanted else "")
        raise slip(f"unknown unit '{unit.text}'", unit, help=hint or None)
    kind = QUANTITY_NAMES[_quantity(UNITS[unit.text][0])]
    if quantity is None:
        raise slip(f"'{key.text}' is a plain number, but '{unit.text}' is a unit of {kind}", unit)
    if UNITS[unit.text][0] != quantity:
        raise slip(
            f"'{unit.text}' is a unit of {kind}, but '{key.text}' is measured in "
            f"{' or '.join(wanted)}",
            unit,
        )


def _fit(
    number: Fraction, unit: str | None, first: Word, last: Word, *, fractional: bool
) -> tuple[int | float, str | None]:
    """The number as the IR holds it, in a smaller unit if that makes it whole."""
    if unit and number.denominator != 1:
        number, unit = _smaller(number, unit)
    if number.denominator != 1 and not fractional:
        raise Slip(f"expected a whole number{f' of {unit}' if unit else ''}", first, last)
    if number <= 0 if fractional else number < 1:
        low = "above 0" if fractional else f"from 1 to {MAX_NUMBER}"
        raise Slip(f"expected a number {low}", first, last)
    if number > MAX_NUMBER:
        raise Slip(f"expected a number from 1 to {MAX_NUMBER}", first, last)
    if unit == "%" and number > 100:
        raise Slip("there are no more than 100 %", first, last)
    value = float(number)
    return (int(number) if number.denominator == 1 or value.is_integer() else value), unit


def _smaller(number: Fraction, unit: str) -> tuple[Fraction, str]:
    """The number in the largest unit in which it is whole; as it is where there is none."""
    kind, scale = UNITS[unit]
    smaller = [(s, u) for u, (k, s) in UNITS.items() if k == kind and s < scale]
    for other, name in sorted(smaller, reverse=True):
        scaled = number * scale / other
        if scaled.denominator == 1:
            return scaled, name
    return number, unit
