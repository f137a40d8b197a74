"""`fill-kernels`: give every kernel a body that the gate admits.

before: kernel.func @decode_qkv(...) {...}
after:  kernel.func @decode_qkv(...) {..., key, provider, target} {...} body [ "...", ... ]

Providers are asked in order; a body that the gate refuses makes room for the next provider's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from metainfer.ir.diagnostics import Note, error
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.ir.text import place_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.isa import hardware, host_isa
from metainfer.passes.base import Choice, MetaPass
from metainfer.passes.context import BodyProvider, CompilerContext, Gate, rewrites_of
from metainfer.passes.pins import pinned


class FillKernels(MetaPass):
    """Fills kernels without a body, gates all of them, and writes their keys."""

    name = "fill-kernels"
    summary: ClassVar[str] = "give every kernel a body that verifies, and its key"
    requires: ClassVar[str] = "outline-kernels"

    @classmethod
    def choices(cls, module: ModuleOp, knowledge: Knowledge) -> list[Choice]:
        known = tuple(hardware(knowledge).isa)
        return [pinned(module, "model", "isa", known, host_isa(knowledge), "rule: this machine")]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = all_of(op, kernel.FuncOp)
        self.need(bool(kernels))
        if not isinstance(ctx, CompilerContext) or ctx.gate is None or not ctx.providers:
            raise error(f"pass {self.name} needs body providers and a gate: use metainfer-opt")
        providers = {k.sym_name.data: iter(ctx.providers) for k in kernels}
        waiting = [k for k in kernels if k.body is None]
        reasons: dict[str, list[str]] = {}
        while True:
            for func in waiting:
                _next_body(func, op, providers[func.sym_name.data], reasons)
            refused = ctx.gate.admit(op)
            if not refused:
                break
            rewrites_of(ctx).count(self.name, "bodies refused", len(refused))
            for name, reason in refused.items():
                reasons.setdefault(name, []).append(reason)
            waiting = [k for k in kernels if k.sym_name.data in refused]
        write_keys(op, ctx.gate)
        for func in kernels:
            by = func.provider.data if func.provider else "hand"
            rewrites_of(ctx).count(self.name, f"bodies by {by}")


def _next_body(
    func: kernel.FuncOp,
    module: ModuleOp,
    providers: Iterator[BodyProvider],
    reasons: dict[str, list[str]],
) -> None:
    for provider in providers:
        body = provider.propose(func, module)
        if body is not None:
            func.properties["body"] = ArrayAttr([StringAttr(line) for line in body.lines])
            func.properties["target"] = StringAttr(body.target)
            func.properties["provider"] = StringAttr(body.provider)
            return
    name = func.sym_name.data
    notes = [Note(reason) for reason in reasons.get(name, [])]
    raise error(f"no body of kernel @{name} was admitted", place_of(func), notes=notes)


def write_keys(module: ModuleOp, gate: Gate) -> None:
    """Put each kernel's key beside its body."""
    keys = gate.keys(module)
    for func in all_of(module, kernel.FuncOp):
        func.properties["key"] = StringAttr(keys[func.sym_name.data])
