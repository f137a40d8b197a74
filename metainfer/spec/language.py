"""Every word of the language and what may follow it, as data.

A new section, key or unit is a line here. A word listed as `RESERVED` belongs to the language but
has no meaning yet: the frontend keeps it in the module and `support` refuses it at its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from metainfer.ir.dialects import spec

ValueKind = Literal["flag", "number", "word", "reserved"]
"""flag: nothing follows; number: an amount with its unit, if any; word: a name."""

Quantity = Literal["tokens", "bytes"]

SectionForm = Literal["text", "block", "reserved"]
"""text: a quoted text follows; block: keys in braces."""


@dataclass(frozen=True)
class Key:
    """What may follow a key: `operator value unit { options }`."""

    kind: ValueKind
    operators: tuple[str, ...] = ("==",)
    """Allowed ones; where `==` is among them it may be left out."""
    quantity: Quantity | None = None
    """Kind of unit that a number needs; None for a plain number."""
    words: tuple[str, ...] = ()
    """Allowed values of a word; empty for any."""
    options: Mapping[str, Key] = field(default_factory=dict)
    """Keys of the block after the value."""
    without_options: tuple[str, ...] = ()
    """Values that take no block."""
    clauses: tuple[str, ...] = ()
    """Reserved words that may begin an addition after the value."""


@dataclass(frozen=True)
class Section:
    """What a word at the top of an engine opens."""

    form: SectionForm
    keys: Mapping[str, Key] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    """Words of which one stands before the block."""


RESERVED = Key("reserved")
FLAG = Key("flag", operators=())
COUNT = Key("number")
_FACT = Key("number", operators=spec.ExpectOp.OPERATORS)
_DTYPES = ("f32", "f16", "bf16", "int8")

SECTIONS: Mapping[str, Section] = {
    "model": Section("text"),
    "sha256": Section("text"),
    "expect": Section(
        "block",
        {
            "arch": Key("word", operators=("==", "!=")),
            "layers": _FACT,
            "hidden": _FACT,
            "ffn_dim": _FACT,
            "q_heads": _FACT,
            "kv_heads": _FACT,
            "head_dim": _FACT,
            "vocab": _FACT,
            "max_context": _FACT,
        },
    ),
    "target": Section(
        "block",
        {
            "isa": Key("word", words=("auto", "avx2", "avx512_vnni")),
            "threads": COUNT,
            "arch": RESERVED,
        },
        devices=("cpu", "cuda"),
    ),
    "workload": Section(
        "block",
        {
            "context": Key("number", operators=("<=", "~"), quantity="tokens"),
            "batch": Key("number", operators=("<=", "~")),
            "prompt": Key("number", operators=("<=", "~"), quantity="tokens"),
            "output": Key("number", operators=("<=", "~"), quantity="tokens"),
        },
    ),
    "require": Section(
        "block",
        {
            "kv": Key("number", operators=("<=",), quantity="bytes"),
            "memory": Key("number", operators=("<=",), quantity="bytes"),
            "ttft": RESERVED,
            "itl": RESERVED,
            "e2e": RESERVED,
            "kl": RESERVED,
            "top1": RESERVED,
        },
    ),
    "quantize": Section(
        "block",
        {
            "weights": Key(
                "word",
                words=("as_stored", "w4a16", "w8a16", "w8a8"),
                options={"group": COUNT},
                without_options=("as_stored",),
                clauses=("except",),
            ),
            "acts": Key("word", words=_DTYPES),
            "kv": Key("word", words=_DTYPES),
        },
    ),
    "parallel": Section("block", {"tensor": COUNT, "pipeline": RESERVED, "expert": RESERVED}),
    "sampling": Section(
        "block",
        {"greedy": FLAG, "temperature": FLAG, "top_k": FLAG, "top_p": FLAG, "seed": FLAG},
    ),
    "want": Section("reserved"),
    "prefer": Section("reserved"),
    "serve": Section("reserved"),
    "kernels": Section("reserved"),
    "degrade": Section("reserved"),
    "use": Section("reserved"),
}

UNIT_KINDS: Mapping[str, str] = {unit: kind for unit, (kind, _) in spec.UNITS.items()} | {
    "us": "time",
    "ms": "time",
    "s": "time",
    "min": "time",
    "%": "share",
}
"""unit: kind of quantity; also of units that no key with a meaning takes yet."""

KIND_NAMES: Mapping[str, str] = {
    "tokens": "tokens",
    "bytes": "memory",
    "time": "time",
    "share": "shares",
}


def units_of(quantity: Quantity) -> list[str]:
    """The units of a kind of quantity, as listed."""
    return [unit for unit, kind in UNIT_KINDS.items() if kind == quantity]


def sections_with(word: str) -> list[str]:
    """Sections that have `word` as a key."""
    return [name for name, section in SECTIONS.items() if word in section.keys]
