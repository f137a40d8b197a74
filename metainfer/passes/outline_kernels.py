"""`outline-kernels`: each group or lone op becomes the semantics of a `kernel.func`.

before: %o = infer.linear %attn, %w
after:  %o = kernel.call @decode_attn_output, %attn, %w   and the kernel.func, its op unchanged

Equal kernels of one entry are one function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.printer import Printer

from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import RangesAttr
from metainfer.ir.symbols import all_of
from metainfer.passes.base import MetaPass, derived
from metainfer.passes.context import knowledge_of
from metainfer.passes.imports import import_path
from metainfer.passes.parts import region_axis
from metainfer.passes.specialize_entries import ranges_of

PATH = "f32_rows16"
_KEPT = (infer.WeightRefOp, infer.LayersOp, func.ReturnOp, kernel.CallOp)
_C_NAMES = frozenset(
    (
        "part parts tokens seqs lane id row score top total most inverse keys values value "
        "visible slot key seen angle frequency cosine sine rest limit scale sum at last blocks "
        "auto break case char const default do double else enum extern float for goto if inline "
        "int long register return short signed sizeof static struct switch typedef union unsigned "
        "void volatile while "
    ).split()
)
"""Names that lowered bodies use, and the keywords of C."""
_LOCALS = r"[a-z][0-9]+|[a-z]+b"
"""Numbered and per-block variables of lowered bodies: `x0`, `a3`, `qsb`."""


class OutlineKernels(MetaPass):
    """Turns every op that computes into a call of a kernel that means the same."""

    name = "outline-kernels"
    summary: ClassVar[str] = "make every group or lone op the semantics of a kernel"
    requires: ClassVar[str] = "select-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        states = all_of(op, infer.StateOp)
        self.need(bool(states) and all(s.context is not None for s in states))
        import_path(op, PATH, knowledge_of(ctx))
        for function in all_of(op, func.FuncOp):
            _Outliner(op, function).run()


class _Outliner:
    def __init__(self, module: ModuleOp, function: func.FuncOp) -> None:
        self.module, self.function = module, function
        self.entry = entry_of(function)

    def run(self) -> None:
        for op in list(self.function.body.block.ops):
            if isinstance(op, _KEPT):
                continue
            inputs = list(dict.fromkeys(outside_values(op)))
            kernel_ = self.kernel(op, inputs)
            call = kernel.CallOp.create(
                operands=inputs,
                result_types=[r.type for r in op.results],
                properties={"callee": SymbolRefAttr(kernel_.sym_name)},
            )
            derived(call, op, OutlineKernels.name)
            block = op.parent_block()
            assert block is not None
            block.insert_op_before(call, op)
            for old, new in zip(op.results, call.results, strict=True):
                new.name_hint = old.name_hint
                old.replace_all_uses_with(new)
            op.detach()
            op.erase()

    def kernel(self, op: Operation, inputs: list[SSAValue]) -> kernel.FuncOp:
        """The kernel that means `op`: an equal one of this entry, or a new one."""
        region, results = _semantics(op, inputs)
        roles = _roles(op)
        arguments = _c_names([roles.get(i) for i in inputs], "in", set())
        outputs = _c_names([roles.get(r) for r in results], "out", set(arguments))
        for argument, name in zip(region.block.args, arguments, strict=True):
            argument.name_hint = name
        func_ = kernel.FuncOp.create(
            properties={
                "function_type": FunctionType.from_lists(
                    [i.type for i in inputs], [r.type for r in results]
                ),
                "arguments": ArrayAttr([StringAttr(n) for n in arguments]),
                "outputs": ArrayAttr([StringAttr(n) for n in outputs]),
                "dims": RangesAttr.of(ranges_of(self.function)),
                "parts": StringAttr(region_axis(region.block)),
                "path": SymbolRefAttr(PATH),
            },
            regions=[region],
        )
        derived(func_, op, OutlineKernels.name)
        meaning = meaning_text(func_)
        taken: set[str] = set()
        for present in all_of(self.module, kernel.FuncOp):
            if entry_of(present) == self.entry and _same(present, func_, meaning):
                return present
            taken.add(present.sym_name.data)
        func_.properties["sym_name"] = StringAttr(self.name(op, results, taken))
        self.module.body.block.insert_op_before(func_, _first_function(self.module))
        return func_

    def name(self, op: Operation, results: list[SSAValue], taken: set[str]) -> str:
        base = f"{self.entry}_{short_name(op)}"
        if base not in taken:
            return base
        hinted = f"{base}_{results[0].name_hint or 'value'}"
        candidates = (hinted, *(f"{hinted}_{n}" for n in range(2, len(taken) + 3)))
        return next(n for n in candidates if n not in taken)


def entry_of(op: func.FuncOp | kernel.FuncOp) -> str:
    """`decode` of `@decode_layer` or of a kernel made from it; empty without entries."""
    name = op.sym_name.data
    return name.split("_")[0] if "_" in name else "step"


def short_name(op: Operation) -> str:
    """What to call the kernel of an op: its fusion, its weight, or itself."""
    if isinstance(op, infer.GroupOp):
        return op.rule.data.split("/")[-1]
    if isinstance(op, infer.LinearOp):
        reference = op.weight.owner
        if isinstance(reference, infer.WeightRefOp):
            return reference.result.name_hint or reference.weight.root_reference.data
    return op.name.split(".")[-1]


def outside_values(op: Operation) -> Iterator[SSAValue]:
    """Values that an op and its regions use from outside, in order of first use."""
    inside = {r for inner in op.walk() for r in inner.results}
    for inner in op.walk():
        for operand in inner.operands:
            if operand not in inside:
                yield operand


def _semantics(op: Operation, inputs: list[SSAValue]) -> tuple[Region, list[SSAValue]]:
    """A region that computes `op` from its inputs, and the values that it returns."""
    block = Block(arg_types=[i.type for i in inputs])
    values: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    members = list(op.body.block.ops)[:-1] if isinstance(op, infer.GroupOp) else [op]
    for member in members:
        copy = member.clone(value_mapper=values)
        block.add_op(copy)
        values |= dict(zip(member.results, copy.results, strict=True))
    results = list(_yielded(op) if isinstance(op, infer.GroupOp) else op.results)
    returned = [values[r] for r in results]
    for value, source in zip(returned, results, strict=True):
        value.name_hint = source.name_hint
    last = kernel.ReturnOp.create(operands=returned)
    derived(last, op, OutlineKernels.name)
    block.add_op(last)
    return Region(block), results


def _roles(op: Operation) -> dict[SSAValue, str]:
    """What to call the values of a kernel.

    In a group they keep the model's names. A lone op's are named by what they are to the op, so
    that a kernel is the same wherever in the model it is used.
    """
    if isinstance(op, infer.GroupOp):
        values = (*outside_values(op), *_yielded(op))
        return {v: v.name_hint for v in values if v.name_hint is not None}
    definition = type(op).get_irdl_definition()  # type: ignore[attr-defined]
    roles: dict[SSAValue, str] = {}
    for name, _ in (*definition.operands, *definition.results):
        found = getattr(op, name)
        for value in [found] if isinstance(found, SSAValue) else found or ():
            roles.setdefault(value, name)
    return roles


def _yielded(group: infer.GroupOp) -> Sequence[SSAValue]:
    last = group.body.block.last_op
    assert last is not None
    return last.operands


def _c_names(wanted: Sequence[str | None], suffix: str, taken: set[str]) -> list[str]:
    """A distinct C identifier for each wanted name that hides no name of a body."""
    names: list[str] = []
    for number, known in enumerate(wanted):
        name = known or f"value{number}"
        plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]+", name)
        if not plain or name in _C_NAMES or re.fullmatch(_LOCALS, name):
            name = f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}_{suffix}"
        while name in taken or name in names:
            name += f"_{suffix}"
        names.append(name)
    return names


def _first_function(module: ModuleOp) -> Operation:
    return next(op for op in module.ops if isinstance(op, func.FuncOp))


def meaning_text(func_: kernel.FuncOp) -> str:
    """The semantics region as canonical text: generic form, values numbered, properties sorted."""
    region = func_.semantics.clone()
    for inner in region.walk():
        inner.properties = dict(sorted(inner.properties.items()))
        for value in inner.results:
            value.name_hint = None
    for argument in region.block.args:
        argument.name_hint = None
    out = StringIO()
    Printer(out, print_generic_format=True).print_region(region)
    return out.getvalue()


def _same(a: kernel.FuncOp, b: kernel.FuncOp, meaning_of_b: str) -> bool:
    alike = all(a.properties[k] == b.properties[k] for k in ("function_type", "dims", "path"))
    return alike and meaning_text(a) == meaning_of_b
