"""Rows of the language table as text, for the reference and for editors."""

from __future__ import annotations

from metainfer.ir.units import UNITS
from metainfer.spec.language import SECTIONS
from metainfer.spec.vocabulary import QUANTITY_NAMES, REFERENCE, Key, Quantity, units_of


def form_of(word: str, key: Key) -> str:
    """What follows a key, in short: `kv <= NUMBER UNIT`."""
    parts = [f"{word}.{'|'.join(key.aspects)}" if key.aspects else word]
    if key.operators and key.operators != ("==",):
        parts.append(f"{'|'.join(key.operators)}")
    parts.append(_value_form(key))
    if key.load != "none":
        parts.append("@ LOAD" if key.load == "must" else "[@ LOAD]")
    if key.versus:
        parts.append(f"vs {REFERENCE}")
    if key.exceptions:
        parts.append("[except WEIGHT FORMAT, ...]")
    if key.options:
        parts.append(f"[{{ {'; '.join(key.options)} }}]")
    return " ".join(part for part in parts if part)


def _value_form(key: Key) -> str:
    match key.kind:
        case "flag":
            return ""
        case "count":
            return "COUNT"
        case "number":
            return f"NUMBER {unit_form(key.quantity)}".rstrip()
        case "word":
            return f"WORD{' or TEXT' if key.text else ''}"
        case "words":
            return "WORD, ..."
        case "text":
            return "TEXT"
        case "texts":
            return "TEXT, ..."
        case "amounts":
            return ", ".join(f"NUMBER {unit_form(quantity)}" for quantity in key.quantities)


def unit_form(quantity: Quantity | None) -> str:
    """The unit of a quantity, or the quantity where it has several: `tokens`, `TIME`."""
    if quantity is None:
        return ""
    units = units_of(quantity)
    return units[0] if len(units) == 1 else QUANTITY_NAMES[quantity].upper()


def describe_key(word: str, key: Key) -> str:
    """A key in Markdown: its form, what it means, its values and an example."""
    parts = [f"```\n{form_of(word, key)}\n```", key.doc]
    if key.words:
        parts.append(f"Values: {', '.join(f'`{value}`' for value in key.words)}.")
    quantities = key.quantities or ((key.quantity,) if key.quantity else ())
    for quantity in quantities:
        units = ", ".join(f"`{unit}`" for unit in units_of(quantity))
        parts.append(f"Units of {QUANTITY_NAMES[quantity]}: {units}.")
    if key.devices:
        parts.append(f"Only for `target {key.devices[0]}`.")
    return "\n\n".join([*parts, f"Example: `{key.example}`"])


def describe_section(name: str) -> str:
    """A section in Markdown: what it means and its keys."""
    section = SECTIONS[name]
    operand = f" {'|'.join(section.operands)}" if section.operands else ""
    keys = f"\n\nKeys: {', '.join(f'`{key}`' for key in section.keys)}." if section.keys else ""
    return f"```\n{name}{operand}\n```\n\n{section.doc}{keys}"


def describe_unit(unit: str) -> str:
    """`MiB`: memory, 1,048,576 B."""
    kind, scale = UNITS[unit]
    quantity = next(quantity for quantity in QUANTITY_NAMES if quantity == kind)
    bases = {"bandwidth": "B/s"}
    base = bases.get(kind) or next(u for u, (k, s) in UNITS.items() if k == kind and s == 1)
    factor = f", {scale:,} {base}" if unit != base else ""
    return f"`{unit}`: a unit of {QUANTITY_NAMES[quantity]}{factor}"
