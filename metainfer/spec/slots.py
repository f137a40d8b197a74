"""Where an item stands in a text: its section, operand and key, found by the name of its op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from metainfer.ir.diagnostics import error
from metainfer.spec.items import Item
from metainfer.spec.language import SECTIONS, key_of
from metainfer.spec.vocabulary import Key


class Slot(NamedTuple):
    """`section operand { key ... { option ... } }`, as far as the item has them."""

    section: str
    operand: str | None = None
    key: str | None = None
    option: str | None = None

    @property
    def row(self) -> Key | None:
        """The key's or the option's row in the language table."""
        if self.key is None:
            return None
        key = key_of(SECTIONS[self.section].keys, self.key)
        return key.options[self.option] if key and self.option else key


_BY_OP: Mapping[str, str] = {
    "expect": "expect",
    "demand": "workload",
    "require": "require",
    "want": "want",
}
"""Ops that belong to one section, whose keys are the names of what they constrain."""


def slot_of(item: Item, device: str) -> Slot:
    """The slot of an item in a spec for a class of device.

    Raises `DiagnosticError` for a name that no word of the language has.
    """
    match item.op:
        case "use" | "model" | "prefer":
            return Slot(item.op)
        case "target" | "degrade":
            return Slot(item.op, item.what)
    if item.op in _BY_OP:
        section = _BY_OP[item.op]
        if key_of(SECTIONS[section].keys, item.what):
            return Slot(section, None, item.what)
    elif item.what in _named():
        slot = _named()[item.what]
        return slot._replace(operand=device) if slot.section == "target" else slot
    raise error(f"no word of the language says {item.op} '{item.what}'", item.place)


@cache
def _named() -> Mapping[str, Slot]:
    return dict(_names())


def _names() -> Iterator[tuple[str, Slot]]:
    for name, section in SECTIONS.items():
        if section.op != "pin" or section.form != "block":
            continue
        for operand in section.operands or (None,):
            base = ".".join(part for part in (section.prefix, operand) if part)
            if section.prefix and operand:
                yield base, Slot(name, operand)
            base = f"{base}." if section.prefix else ""
            for word, key in section.keys.items():
                if operand and key.devices and operand not in key.devices:
                    continue
                yield from _key_names(base + word, Slot(name, operand, word), key)


def _key_names(what: str, slot: Slot, key: Key) -> Iterator[tuple[str, Slot]]:
    for quantity in key.quantities:
        yield f"{what}.{quantity}", slot
    if not key.quantities:
        yield what, slot
    for option in key.options:
        yield f"{what}.{option}", slot._replace(option=option)
