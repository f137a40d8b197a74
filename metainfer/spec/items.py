"""A spec as a list of items: what its text says, one item a constraint, without ops.

An editor reads a file at every keystroke and a file imports others; both need the constraints and
their places, and neither needs IR.
"""

from __future__ import annotations

from typing import NamedTuple

from metainfer.ir.diagnostics import Place
from metainfer.spec.words import Word

Value = str | int | float | tuple[str, ...] | tuple[int, ...] | None


class Item(NamedTuple):
    """One constraint, in the terms of the `spec` op that it becomes."""

    op: str
    """The op's name after the point: `require`."""
    what: str
    """What is constrained: `itl.p95`, `serve.openai.stop`; the text of a `use` or a `model`."""
    place: Place | None
    operator: str = "=="
    value: Value = None
    unit: str | None = None
    load: tuple[tuple[str, int], ...] = ()
    versus: str | None = None
    site: str = ""
    """Of an `except`: where the value holds instead."""
    words: tuple[Word, ...] = ()
    """What was read; empty for an item that comes from IR."""

    @property
    def key(self) -> tuple[str, ...]:
        """Two items with one key say something about one thing."""
        match self.op:
            case "expect":
                return (self.op, self.what, self.operator, str(self.value))
            case "demand":
                return (self.op, self.what, self.operator)
            case "require" | "want":
                load = " ".join(f"{name} {count}" for name, count in self.load)
                return (self.op, self.what, load)
            case "except":
                return (self.op, self.what, self.site)
            case "model" | "target" | "prefer":
                return (self.op,)
            case _:
                return (self.op, self.what)

    @property
    def pinned(self) -> bool:
        """Whether a file that imports this may say nothing else."""
        if self.op in ("pin", "limit"):
            return self.operator == "=="
        return self.op in ("model", "target", "allow", "except")

    @property
    def said(self) -> tuple[object, ...]:
        """What the item says, wherever and however it is written."""
        return (*self.key, self.what, self.operator, self.value, self.unit, self.versus)


class Sheet(NamedTuple):
    """The items of one engine, in the order of its text."""

    name: str
    place: Place | None
    items: tuple[Item, ...]

    @property
    def device(self) -> str:
        """Class of device; `cpu` unless a target is given."""
        return next((item.what for item in self.items if item.op == "target"), "cpu")
