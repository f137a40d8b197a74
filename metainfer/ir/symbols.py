"""Symbols of a module, through one dictionary instead of a scan per lookup."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

OpT = TypeVar("OpT", bound=Operation)


def symbol_name(op: Operation) -> str | None:
    """The symbol that an op defines, if it defines one."""
    name = op.properties.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def symbols(module: ModuleOp) -> dict[str, Operation]:
    """Every symbol defined directly in the module."""
    return {name: op for op in module.ops if (name := symbol_name(op)) is not None}


def lookup(module: ModuleOp, name: str, kind: type[OpT]) -> OpT:
    """The op of class `kind` that defines `name`; a KeyError names what is missing."""
    for op in module.ops:
        if isinstance(op, kind) and symbol_name(op) == name:
            return op
    raise KeyError(f"no {kind.name} @{name}")


def all_of(module: ModuleOp, kind: type[OpT]) -> list[OpT]:
    """All ops of one class directly in the module, in order."""
    return [op for op in module.ops if isinstance(op, kind)]
