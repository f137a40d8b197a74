"""Where a contract holds, as a box: a set of names or a range per field.

A conjunction of finite sets and ranges, so that it can be decided whether two boxes share a point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from metainfer.ir.diagnostics import did_you_mean
from metainfer.ir.units import UNITS

FIELDS: Mapping[str, str | None] = {
    "op": None,
    "format": None,
    "target": None,
    "machine": None,
    "arch": None,
    "tokens": "tokens",
    "context": "tokens",
    "cache": "bytes",
}
"""Field → the kind of quantity that its ranges are of; None for one of names.

`tokens` are those of a step, `context` those of a sequence, `cache` is a CPU's largest.
"""
_RANGE = re.compile(r"(?P<low>[0-9]+)?\s*\.\.\s*(?P<high>[0-9]+)?\s+(?P<unit>\S+)")


@dataclass(frozen=True)
class Names:
    """A finite set of names."""

    names: frozenset[str]

    def meets(self, other: Extent) -> bool:
        """Whether some value is in both."""
        return isinstance(other, Names) and bool(self.names & other.names)


@dataclass(frozen=True)
class Range:
    """Whole numbers from `low` to `high`, both included; None is without end. In the base unit."""

    low: int
    high: int | None

    def meets(self, other: Extent) -> bool:
        """Whether some value is in both."""
        if not isinstance(other, Range):
            return False
        return (other.high is None or self.low <= other.high) and (
            self.high is None or other.low <= self.high
        )


Extent: TypeAlias = Names | Range
Box: TypeAlias = dict[str, Extent]


def parse_scope(applies: Mapping[str, Sequence[str] | str]) -> Box:
    """The box of a header's `applies`; ValueError for an unknown field, a wrong unit or form."""
    return {field: _extent(field, value) for field, value in applies.items()}


def _extent(field: str, value: Sequence[str] | str) -> Extent:
    if field not in FIELDS:
        near = did_you_mean(field, FIELDS) or f"the fields are {', '.join(FIELDS)}"
        raise ValueError(f"no field '{field}': {near}")
    quantity = FIELDS[field]
    if quantity is None:
        if isinstance(value, str) or not value:
            raise ValueError(f"'{field}' takes a list of names")
        return Names(frozenset(value))
    if not isinstance(value, str) or (found := _RANGE.fullmatch(value.strip())) is None:
        raise ValueError(f"'{field}' takes a range with a unit, such as '1..4 {quantity}'")
    kind, factor = UNITS.get(found["unit"], (None, 1))
    if kind != quantity:
        raise ValueError(f"'{field}' is in {quantity}, not in '{found['unit']}'")
    low = int(found["low"] or 0) * factor
    high = int(found["high"]) * factor if found["high"] else None
    if high is not None and high < low:
        raise ValueError(f"'{field}': the range {value} is empty")
    return Range(low, high)


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes share a point; what a box does not name it does not restrict."""
    return all(a[field].meets(b[field]) for field in a.keys() & b.keys())


def names(box: Box, field: str, name: str) -> bool:
    """Whether a box names this very value of a field."""
    extent = box.get(field)
    return isinstance(extent, Names) and name in extent.names
