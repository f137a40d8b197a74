"""From a phrase to the items that it stands for."""

from __future__ import annotations

from metainfer.ir.diagnostics import Place
from metainfer.ir.units import UNITS
from metainfer.spec.items import Item
from metainfer.spec.phrase import Phrase
from metainfer.spec.vocabulary import Key, OpKind


def items_of(
    op: OpKind, base: str, key: Key, phrase: Phrase, file: str, line: int
) -> tuple[Item, ...]:
    """The items of one statement, the main one first; `base` goes before the names."""
    first, last = phrase.head[0], phrase.head[-1]
    place = Place(file, line, first.col, last.end - first.col)
    what = base + first.text
    if key.kind == "amounts":
        return tuple(
            Item("limit", f"{what}.{UNITS[unit or ''][0]}", place, "==", value, unit,
                 words=phrase.head)
            for value, unit in phrase.amounts
        )  # fmt: skip
    kind, value = (op, phrase.value) if op != "pin" else _decision(key, phrase)
    main = Item(
        kind,
        what,
        place,
        phrase.operator or "==",
        value,
        phrase.unit,
        phrase.load,
        phrase.versus,
        words=phrase.head,
    )
    return (main, *_exceptions(what, phrase, file, line))


def _decision(key: Key, phrase: Phrase) -> tuple[str, str | int | float | tuple[str, ...] | None]:
    """What a key that decides something becomes: by the kind of its value."""
    match key.kind:
        case "flag":
            return "feature", None
        case "count":
            return "pin", str(phrase.value)
        case "number":
            return "limit", phrase.value
        case "words" | "texts":
            return "allow", phrase.value
        case _:
            return "pin", phrase.value


def _exceptions(what: str, phrase: Phrase, file: str, line: int) -> list[Item]:
    found = []
    for site, value in phrase.exceptions:
        place = Place(file, line, site.col, value.end - site.col)
        item = Item("except", what, place, value=value.text, site=site.text, words=(site, value))
        found.append(item)
    return found
