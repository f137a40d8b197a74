"""Hover, completion and definitions, for a spot in a file; no editor protocol here."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from metainfer.ir.diagnostics import DiagnosticError, Place
from metainfer.ir.units import UNITS
from metainfer.knowledge.base import Knowledge
from metainfer.lsp.analysis import Analysis
from metainfer.lsp.contracts import describe, known_of
from metainfer.lsp.spot import Spot, word_at
from metainfer.spec.describe import describe_key, describe_section, describe_unit
from metainfer.spec.items import Item
from metainfer.spec.language import LOADS, SECTIONS, key_of
from metainfer.spec.measures import MEASURES
from metainfer.spec.uses import used_path
from metainfer.spec.vocabulary import REFERENCE, Key, units_of
from metainfer.spec.words import Word

TOP = {
    "engine": "The one engine that a file describes: `engine NAME { ... }`.",
    "use": 'Another file whose constraints hold here too: `use "base.mispec"`.',
}


# === Hover ===


def hover(text: str, line: int, col: int, knowledge: Knowledge) -> tuple[str, Word] | None:
    """Markdown on the word at a position, and the word; None where there is nothing to say."""
    found = word_at(text, line, col)
    if found is None:
        return None
    spot, word = found
    said = _first(spot, word) if spot.index == 0 else _later(spot, word, knowledge)
    return (said, word) if said else None


def _first(spot: Spot, word: Word) -> str | None:
    """What the first word of a statement means: by how deep it stands."""
    match len(spot.blocks):
        case 0:
            return TOP.get(word.text)
        case 1:
            return describe_section(word.text) if word.text in SECTIONS else None
        case _:
            key = spot.key
            return describe_key(word.text.split(".")[0], key) if key else None


def _later(spot: Spot, word: Word, knowledge: Knowledge) -> str | None:
    known = known_of(spot, word.text, knowledge)
    if known is not None:
        return describe(known)
    if word.text in UNITS:
        return describe_unit(word.text)
    if word.text == REFERENCE:
        return "R0: the interpreter over the file's own weights in float64."
    measure = key_of(MEASURES, word.text) if spot.blocks[1:2] and _objective(spot) else None
    load = LOADS.get(word.text) if any(w.text == "@" for w in spot.words) else None
    key = measure or load
    return describe_key(word.text.split(".")[0], key) if key else None


def _objective(spot: Spot) -> bool:
    return spot.section is not None and spot.section.form == "objectives"


# === Completion ===


class Offer(NamedTuple):
    """A word that may be written at a spot."""

    word: str
    kind: Literal["section", "key", "value", "unit"]
    doc: str = ""


def completions(spot: Spot) -> list[Offer]:
    """The words that fit at a spot; the editor keeps those that begin as what is typed."""
    if spot.word is not None and spot.word.kind in ("text", "number"):
        return []
    if spot.index == 0:
        return list(_starts(spot))
    if len(spot.blocks) == 1:
        section = SECTIONS.get(spot.words[0].text)
        return [Offer(word, "value") for word in section.operands] if section else []
    if _objective(spot):
        return list(_objectives(spot))
    return list(_values(spot, spot.key)) if spot.key else []


def _starts(spot: Spot) -> Iterator[Offer]:
    if not spot.blocks:
        yield from (Offer(word, "section", doc) for word, doc in TOP.items())
    elif len(spot.blocks) == 1:
        yield from (Offer(name, "section", section.doc) for name, section in SECTIONS.items())
    elif _objective(spot):
        yield from (Offer(word, "value") for word in ("min", "max", "then"))
    elif spot.section is not None:
        yield from _keys(spot)


def _keys(spot: Spot) -> Iterator[Offer]:
    assert spot.section is not None
    keys = spot.section.keys
    if len(spot.blocks) > 2:
        owner = key_of(keys, spot.blocks[2][0].text)
        keys = owner.options if owner else {}
    for word, key in keys.items():
        if key.devices and spot.operand not in key.devices:
            continue
        for form in [f"{word}.{aspect}" for aspect in key.aspects] or [word]:
            yield Offer(form, "key", key.doc)


def _objectives(spot: Spot) -> Iterator[Offer]:
    if spot.words[spot.index - 1].text == "then":
        yield from (Offer(word, "value") for word in ("min", "max"))
        return
    best = {"min": "<=", "max": ">="}.get(spot.words[spot.index - 1].text)
    for word, key in MEASURES.items():
        if best in key.operators:
            yield from (Offer(f, "key", key.doc) for f in _forms(word, key))


def _forms(word: str, key: Key) -> list[str]:
    return [word, *(f"{word}.{aspect}" for aspect in key.aspects)]


def _values(spot: Spot, key: Key) -> Iterator[Offer]:
    before = spot.words[spot.index - 1]
    texts = [word.text for word in spot.words[: spot.index]]
    if "@" in texts:
        if before.text in ("@", ","):
            yield from (Offer(word, "value", LOADS[word].doc) for word in LOADS)
    elif before.text == "vs":
        yield Offer(REFERENCE, "value", "R0: the file's own weights in float64.")
    elif "except" in texts:
        at = texts.index("except")
        if (len(texts) - at) % 3 == 2:
            yield from (Offer(word, "value") for word in key.exceptions)
    elif before.kind == "number":
        yield from _units(key)
    elif spot.index == 1 or before.kind == "operator" or before.text == ",":
        yield from (Offer(word, "value") for word in key.words)
    elif key.exceptions:
        yield Offer("except", "value", "Another format for some of the weights.")


def _units(key: Key) -> Iterator[Offer]:
    quantities = key.quantities or ((key.quantity,) if key.quantity else ())
    for quantity in quantities:
        yield from (Offer(unit, "unit", describe_unit(unit)) for unit in units_of(quantity))
    if key.versus:
        yield Offer("vs", "value", "What the quality is compared with.")


# === Definition ===


def definition(
    text: str, line: int, col: int, analysis: Analysis, knowledge: Knowledge
) -> Place | None:
    """Where the word at a position comes from: a used file, the constraint of a used file that
    this one repeats or replaces, or a contract."""
    found = word_at(text, line, col)
    if found is None:
        return None
    spot, word = found
    if spot.words[0].text == "use" and not spot.blocks:
        return _used(analysis, line)
    if spot.index > 0:
        known = known_of(spot, word.text, knowledge)
        if known is not None:
            return Place(str(known.path), 1, 1)
    return _stated_elsewhere(analysis, line, col)


def _used(analysis: Analysis, line: int) -> Place | None:
    items = analysis.sheet.items if analysis.sheet else ()
    use = next((i for i in items if i.op == "use" and i.place and i.place.line == line), None)
    if use is None:
        return None
    try:
        path = used_path(analysis.file, use)
    except DiagnosticError:
        return None
    return Place(posixpath.abspath(path), 1, 1) if Path(path).is_file() else None


def _stated_elsewhere(analysis: Analysis, line: int, col: int) -> Place | None:
    own = _item_at(analysis.sheet.items if analysis.sheet else (), line, col)
    if own is None:
        return None
    return next((item.place for item in analysis.imported if item.key == own.key), None)


def _item_at(items: Iterable[Item], line: int, col: int) -> Item | None:
    for item in items:
        place = item.place
        if place and place.line == line and place.col <= col < place.col + place.length:
            return item
    return None
