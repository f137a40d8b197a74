"""Items back to text: the canonical form of a spec, its hash, and text that parses to the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from metainfer.ir.diagnostics import error
from metainfer.ir.units import UNITS
from metainfer.spec.formatter import format_text
from metainfer.spec.items import Item, Sheet
from metainfer.spec.language import LOADS, SECTIONS
from metainfer.spec.slots import Slot, slot_of
from metainfer.spec.vocabulary import Key
from metainfer.spec.words import can_be_text

# === Text ===


@dataclass
class _Line:
    """A statement of a section: its words, and the statements of its block."""

    slot: Slot
    text: str
    options: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.text} {{ {'; '.join(self.options)} }}" if self.options else self.text


def print_spec(sheet: Sheet) -> str:
    """A text that parses to the sheet, whose items keep their order.

    Raises `DiagnosticError` for an item that no text spells; every parsed item can be spelled.
    """
    uses = [f"use {_quoted(item, item.what)}" for item in sheet.items if item.op == "use"]
    rest = [item for item in sheet.items if item.op != "use"]
    body = "\n".join(_sections(rest, sheet.device))
    inside = f"{{\n{body}\n}}" if body else "{ }"
    text = "\n".join([*uses, f"engine {sheet.name} {inside}"])
    return format_text(text, sheet.name)


def _sections(items: Iterable[Item], device: str) -> list[str]:
    found: list[str] = []
    head, lines = "", list[_Line]()
    for item in items:
        slot = slot_of(item, device)
        opening = _head(item, slot)
        if opening != head or item.op in ("model", "degrade"):
            found += _section(head, lines)
            head, lines = opening, []
        _add(lines, item, slot)
    return found + _section(head, lines)


def _head(item: Item, slot: Slot) -> str:
    if item.op == "model":
        digest = f' sha256 "{item.value}"' if item.value else ""
        return f"model {_quoted(item, item.what)}{digest}"
    if item.op == "degrade" and isinstance(item.value, tuple):
        return f"degrade {item.what} {{ {', '.join(map(str, item.value))} }}"
    return f"{slot.section} {slot.operand}" if slot.operand else slot.section


def _section(head: str, lines: list[_Line]) -> list[str]:
    if not lines:
        return [head] if head else []
    return [f"{head} {{ {'; '.join(map(str, lines))} }}"]


def _add(lines: list[_Line], item: Item, slot: Slot) -> None:
    """The words of an item as a statement, or as a part of the one before it."""
    if item.op == "prefer":
        then = "then " if lines else ""
        lines.append(_Line(slot, f"{then}{item.value} {item.what}"))
    elif slot.option:
        _host(lines, item, slot).options.append(_statement(item, slot, slot.option))
    elif item.op == "except":
        line = _host(lines, item, slot)
        clause = "," if " except " in line.text else " except"
        line.text += f"{clause} {item.site} {item.value}"
    elif slot.row and slot.row.quantities and lines and lines[-1].slot == slot:
        lines[-1].text += f", {_amount(item)}"
    elif slot.key:
        lines.append(_Line(slot, _statement(item, slot, item.what if item.load else slot.key)))


def _host(lines: list[_Line], item: Item, slot: Slot) -> _Line:
    line = lines[-1] if lines else None
    if line is None or (line.slot.section, line.slot.key) != (slot.section, slot.key):
        raise error(f"'{item.what}' follows no '{slot.key}'", item.place)
    return line


def _statement(item: Item, slot: Slot, word: str) -> str:
    key = slot.row
    assert key is not None
    if item.op in ("expect", "demand", "require", "want"):
        word = item.what
    parts = [word]
    if item.operator != "==" or item.op == "expect":
        parts.append(item.operator)
    if key.kind != "flag":
        parts.append(_value(item, key))
    if item.load:
        parts.append("@ " + ", ".join(f"{name} {count}" for name, count in item.load))
    if item.versus:
        parts.append(f"vs {item.versus}")
    return " ".join(parts)


def _value(item: Item, key: Key) -> str:
    match item.value:
        case tuple() as values if key.kind == "texts":
            return ", ".join(_quoted(item, str(value)) for value in values)
        case tuple() as values:
            return ", ".join(map(str, values))
        case str() as text:
            return _quoted(item, text) if key.kind == "text" else text
        case _:
            return _amount(item)


def _amount(item: Item) -> str:
    return f"{item.value} {item.unit}" if item.unit else f"{item.value}"


def _quoted(item: Item, text: str) -> str:
    if not can_be_text(text):
        raise error(f"no text can spell {text!r}", item.place)
    return f'"{text}"'


# === The canonical form ===


def canonical(sheet: Sheet) -> str:
    """The one text of all specs that say the same: sorted, each quantity in its roundest unit.

    Neither the order of constraints, nor units, comments or layout change it.
    """
    items = sorted(
        (_normal(item) for item in sheet.items), key=lambda item: _rank(item, sheet.device)
    )
    return print_spec(Sheet(sheet.name, sheet.place, tuple(items)))


def spec_hash(sheet: Sheet) -> str:
    """SHA-256 of the canonical form, as `sha256:` and 64 hex digits."""
    return f"sha256:{hashlib.sha256(canonical(sheet).encode()).hexdigest()}"


def _normal(item: Item) -> Item:
    order = list(LOADS)
    load = tuple(sorted(item.load, key=lambda part: order.index(part[0])))
    item = item._replace(load=load)
    if item.unit is None or not isinstance(item.value, int | float):
        return item
    value, unit = _roundest(item.value, item.unit)
    return item._replace(value=value, unit=unit)


def _roundest(value: int | float, unit: str) -> tuple[int | float, str]:
    """The largest unit in which the value is whole; the smallest one where there is none."""
    kind, scale = UNITS[unit]
    exact = Fraction(repr(value)) * scale
    units = sorted(((s, u) for u, (k, s) in UNITS.items() if k == kind), reverse=True)
    for other, name in units:
        if (exact / other).denominator == 1:
            return int(exact / other), name
    other, name = units[-1]
    return float(exact / other), name


def _rank(item: Item, device: str) -> tuple[object, ...]:
    if item.op == "use":
        return (-1, item.what)
    slot = slot_of(item, device)
    section = list(SECTIONS).index(slot.section)
    operands, keys = SECTIONS[slot.section].operands, list(SECTIONS[slot.section].keys)
    operand = operands.index(slot.operand) if slot.operand else -1
    key = keys.index(slot.key.split(".")[0]) if slot.key else -1
    part = 2 if slot.option else int(item.op == "except")
    if item.op == "prefer":
        return (section, operand, key)
    name = item.what if slot.key else ""
    return (section, operand, key, name, part, item.operator, item.site, str(item.load),
            str(item.value))  # fmt: skip
