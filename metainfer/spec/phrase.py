"""Reads what follows a key: `operator value unit`, by the key's row in the language table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from metainfer.ir.diagnostics import Place, did_you_mean, error
from metainfer.ir.dialects.spec import UNITS
from metainfer.spec.language import KIND_NAMES, UNIT_KINDS, Key, units_of
from metainfer.spec.syntax import Word, stretch

MAX_NUMBER = 2**63 - 1
_SLIPS = {"=": "==", "=<": "<=", "≤": "<=", "=>": ">=", "≥": ">=", "=!": "!=", "<>": "!="}


@dataclass(frozen=True)
class Phrase:
    """`operator value unit`, checked; a flag has none of them."""

    operator: str | None
    value: str | int | None
    unit: str | None
    words: tuple[Word, ...]
    """What was read, from the key on."""
    rest: tuple[Word, ...]
    """A clause after it, empty or beginning with one of the key's clause words."""


def read_phrase(key: Key, words: tuple[Word, ...]) -> Phrase:
    """`words` begins with the key itself. Raises `DiagnosticError` at the first wrong word."""
    at, operator = 1, None
    if key.kind != "flag":
        operator, at = _operator(key, words)
    value: str | int | None = None
    unit: str | None = None
    if key.kind == "word":
        value, at = _word(key, words, at), at + 1
    elif key.kind == "number":
        value, unit, at = _number(key, words, at)
    if at < len(words) and words[at].text not in key.clauses:
        raise error(
            f"expected a new line or ';' after '{words[at - 1].text}', found '{words[at].text}'",
            words[at].place,
        )
    return Phrase(operator, value, unit, words[:at], words[at:])


def _operator(key: Key, words: tuple[Word, ...]) -> tuple[str, int]:
    """The operator and the index of the word after it."""
    name, allowed = words[0].text, " or ".join(f"'{op}'" for op in key.operators)
    if len(words) > 1 and words[1].kind == "operator":
        written = words[1].text
        if written in key.operators:
            return written, 2
        meant = _SLIPS.get(written)
        raise error(
            f"'{name}' takes {allowed}, not '{written}'",
            words[1].place,
            help=f"did you mean '{meant}'?" if meant in key.operators else None,
        )
    if "==" in key.operators:
        return "==", 1
    if len(words) > 1:
        raise error(f"expected {allowed} after '{name}', found '{words[1].text}'", words[1].place)
    raise error(f"expected {allowed} after '{name}'", words[0].place)


def _expected(what: str, words: tuple[Word, ...], at: int) -> NoReturn:
    before = words[at - 1]
    if at < len(words):
        found = words[at]
        raise error(f"expected {what} after '{before.text}', found '{found.text}'", found.place)
    raise error(f"expected {what} after '{before.text}'", before.place)


def _word(key: Key, words: tuple[Word, ...], at: int) -> str:
    if at >= len(words) or words[at].kind != "name":
        choices = f"one of {', '.join(key.words)}" if key.words else "a word"
        _expected(choices, words, at)
    value = words[at]
    if key.words and value.text not in key.words:
        raise error(
            f"unknown value '{value.text}' for '{words[0].text}'",
            value.place,
            help=did_you_mean(value.text, key.words) or f"one of {', '.join(key.words)}",
        )
    return value.text


def _number(key: Key, words: tuple[Word, ...], at: int) -> tuple[int, str | None, int]:
    """Value, unit and the index of the word after them; a broken value comes in a smaller unit."""
    if at >= len(words) or words[at].kind != "number":
        _expected("a number", words, at)
    number = _exact(words[at])
    after = at + 1
    unit: str | None = None
    if after < len(words) and words[after].kind == "name" and words[after].text not in key.clauses:
        unit = words[after].text
        _check_unit(key, words, after)
        after += 1
    elif key.quantity:
        units = units_of(key.quantity)
        raise error(
            f"'{words[0].text}' needs a unit: {', '.join(units)}",
            stretch(words[: at + 1]),
            help=f"write {words[at].text} {units[0]}" if len(units) == 1 else None,
        )
    return *_whole(number, unit, stretch(words[at:after])), after


def _exact(word: Word) -> Fraction:
    """The number as written; the length is bounded, since `1e999999999` would not fit anywhere."""
    text, thousand = word.text.removesuffix("k"), word.text.endswith("k")
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > 40 or (exponent and abs(int(exponent[:8])) > 40):
        raise error("this number is out of range", word.place)
    return Fraction(text) * (1000 if thousand else 1)


def _check_unit(key: Key, words: tuple[Word, ...], at: int) -> None:
    name, unit, place = words[0].text, words[at].text, words[at].place
    kind = UNIT_KINDS.get(unit)
    wanted = units_of(key.quantity) if key.quantity else []
    if kind is None:
        hint = did_you_mean(unit, wanted) or (f"one of {', '.join(wanted)}" if wanted else None)
        raise error(f"unknown unit '{unit}'", place, help=hint)
    if key.quantity is None:
        raise error(
            f"'{name}' is a plain number, but '{unit}' is a unit of {KIND_NAMES[kind]}", place
        )
    if kind != key.quantity:
        raise error(
            f"'{unit}' is a unit of {KIND_NAMES[kind]}, but '{name}' is measured in "
            f"{' or '.join(wanted)}",
            place,
        )


def _whole(number: Fraction, unit: str | None, place: Place) -> tuple[int, str | None]:
    if unit and number.denominator != 1 and UNITS[unit][0] == "bytes":
        number, unit = number * UNITS[unit][1], "B"
    if number.denominator != 1:
        raise error(f"expected a whole number{f' of {unit}' if unit else ''}", place)
    if not 1 <= number <= MAX_NUMBER:
        raise error(f"expected a number from 1 to {MAX_NUMBER}", place)
    return int(number), unit
