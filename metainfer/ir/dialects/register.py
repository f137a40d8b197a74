"""Lazy registration of every dialect that our modules use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.context import Context
from xdsl.ir import Dialect

DIALECTS: dict[str, tuple[str, str]] = {
    "builtin": ("xdsl.dialects.builtin", "Builtin"),
    "func": ("xdsl.dialects.func", "Func"),
    "arith": ("xdsl.dialects.arith", "Arith"),
    "spec": ("metainfer.ir.dialects.spec", "Spec"),
    "plan": ("metainfer.ir.dialects.plan", "Plan"),
    "infer": ("metainfer.ir.dialects.infer", "Infer"),
    "kernel": ("metainfer.ir.dialects.kernel", "Kernel"),
    "engine": ("metainfer.ir.dialects.engine", "Engine"),
}
"""Dialect → module and name of its `Dialect` object."""


def dialect_factory(name: str) -> Callable[[], Dialect]:
    """A function that imports the dialect when it is first needed."""
    module, attribute = DIALECTS[name]

    def load() -> Dialect:
        dialect = getattr(import_module(module), attribute)
        assert isinstance(dialect, Dialect)
        return dialect

    return load


def register_dialects(ctx: Context) -> None:
    """Register all of them; each is imported when an op of it is parsed."""
    for name in DIALECTS:
        ctx.register_dialect(name, dialect_factory(name))
