"""What the rows of the language table are made of: keys, sections, units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from metainfer.ir.units import UNITS

ValueKind = Literal["flag", "count", "number", "word", "words", "text", "texts", "amounts"]
"""What follows a key.

flag: nothing; count: a whole number without a unit that pins a decision; number: an amount with its
unit, if it has one; word: a name; words: names with commas between; text and texts: the same in
quotes; amounts: numbers with commas between, each of another quantity.
"""

Quantity = Literal[
    "tokens",
    "bytes",
    "time",
    "share",
    "bandwidth",
    "throughput",
    "rate",
    "lines",
    "energy",
    "cost",
    "price",
]

LoadRule = Literal["none", "may", "must"]

OpKind = Literal["expect", "demand", "require", "want", "pin"]
"""Which ops the keys of a section become; `pin` means that the value decides: see `lower`."""

QUANTITY_NAMES: Mapping[Quantity, str] = {
    "tokens": "tokens",
    "bytes": "memory",
    "time": "time",
    "share": "shares",
    "bandwidth": "bandwidth",
    "throughput": "throughput",
    "rate": "request rates",
    "lines": "source lines",
    "energy": "energy",
    "cost": "cost",
    "price": "price",
}

PERCENTILES = ("p50", "p90", "p95", "p99")
REFERENCE = "reference"
"""What qualities are compared with: R0, the file's own weights in float64."""


@dataclass(frozen=True, eq=False)
class Key:
    """What may follow a key: `operator value unit { options }`, then its clauses."""

    kind: ValueKind
    doc: str
    """One sentence for the reference and the editor."""
    example: str
    """A statement with this key, as it stands in its section."""
    operators: tuple[str, ...] = ("==",)
    """Allowed ones; where `==` is among them it may be left out."""
    quantity: Quantity | None = None
    """Kind of unit that a number needs; None for a plain number."""
    quantities: tuple[Quantity, ...] = ()
    """Those of `amounts`, each at most once."""
    fractional: bool = False
    """Whether a value between two whole numbers of the base unit has a meaning."""
    words: tuple[str, ...] = ()
    """Allowed values of a word; empty for any."""
    text: bool = False
    """Whether a quoted text may stand for the word."""
    options: Mapping[str, Key] = field(default_factory=dict)
    """Keys of the block after the value."""
    with_options: tuple[str, ...] = ()
    """Values that take a block."""
    aspects: tuple[str, ...] = ()
    """Of which one follows the key after a point: `itl.p95`."""
    load: LoadRule = "none"
    """Whether `@ prompt 512` follows."""
    versus: bool = False
    """Whether `vs reference` follows."""
    exceptions: tuple[str, ...] = ()
    """Values of `except SITE VALUE, ...` after the value; empty where that has no meaning."""
    devices: tuple[str, ...] = ()
    """Operands of the section that the key belongs to; empty for any."""


SectionForm = Literal["text", "block", "objectives", "degrade"]
"""text: a quoted text follows; block: keys in braces; objectives: `min itl; then min memory`;
degrade: a demand and the values that it may shrink to."""


@dataclass(frozen=True, eq=False)
class Section:
    """What a word at the top of an engine opens."""

    form: SectionForm
    doc: str
    keys: Mapping[str, Key] = field(default_factory=dict)
    op: OpKind = "pin"
    operands: tuple[str, ...] = ()
    """Words of which one stands before the block."""
    operand: str = ""
    """What an operand is called in messages: a device."""
    prefix: str = ""
    """Stands before the names of the section's ops: `cache.prefix`; empty where keys are unique."""
    exclusive: tuple[tuple[str, str], ...] = ()
    """Pairs of keys of which at most one may be given."""


def units_of(quantity: Quantity) -> list[str]:
    """The units of a kind of quantity, as listed."""
    return [unit for unit, (kind, _) in UNITS.items() if kind == quantity]
