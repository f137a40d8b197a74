"""Rule-based bodies: a kernel's semantics region, op by op, to C.

Every op shares its work along one axis (`passes/parts.py`). Ops that do not feed each other run
one after the other, each part on its own share. No part can wait for another inside a kernel, so
where ops do feed each other the first part does everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from metainfer.codegen.c import attention, linear, simple_ops
from metainfer.codegen.c.text import block
from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import lookup
from metainfer.ir.text import place_of

Names = dict[SSAValue, str]


def _rows(value: SSAValue) -> str:
    return str(sizes(value.type)[0])


def _slab(value: SSAValue, module: ModuleOp) -> infer.StateOp:
    assert isinstance(value.type, infer.StateType)
    return lookup(module, value.type.state.root_reference.data, infer.StateOp)


def _linear(op: infer.LinearOp, c: Names, module: ModuleOp) -> list[str]:
    bias = c[op.bias] if op.bias is not None else None
    return linear.linear(op, c[op.x], c[op.weight], bias, c[op.result], _rows(op.x), module)


def _embed(op: infer.EmbedOp, c: Names, module: ModuleOp) -> list[str]:
    return linear.embed(op, c[op.batch], c[op.weight], c[op.result], module)


def _rms_norm(op: infer.RmsNormOp, c: Names, module: ModuleOp) -> list[str]:
    return simple_ops.rms_norm(op, c[op.x], c[op.weight], c[op.result], _rows(op.x))


def _rope(op: infer.RopeOp, c: Names, module: ModuleOp) -> list[str]:
    return simple_ops.rope(op, c[op.x], c[op.batch], c[op.result])


def _add(op: infer.AddOp, c: Names, module: ModuleOp) -> list[str]:
    return simple_ops.add(op, c[op.a], c[op.b], c[op.result], _rows(op.a))


def _gated_act(op: infer.GatedActOp, c: Names, module: ModuleOp) -> list[str]:
    return simple_ops.gated_act(op, c[op.gate], c[op.up], c[op.result], _rows(op.gate))


def _scale(op: infer.ScaleOp, c: Names, module: ModuleOp) -> list[str]:
    return simple_ops.scale(op, c[op.x], c[op.result], _rows(op.x))


def _select_last(op: infer.SelectLastOp, c: Names, module: ModuleOp) -> list[str]:
    return simple_ops.select_last(op, c[op.x], c[op.batch], c[op.result])


def _append(op: infer.StateAppendOp, c: Names, module: ModuleOp) -> list[str]:
    slab = _slab(op.state, module)
    return attention.state_append(op, c[op.state], c[op.k], c[op.v], c[op.batch], slab)


def _attend(op: infer.AttendOp, c: Names, module: ModuleOp) -> list[str]:
    slab = _slab(op.state, module)
    return attention.attend(op, c[op.q], c[op.state], c[op.batch], c[op.result], slab)


Lowering = Callable[[Any, Names, ModuleOp], list[str]]

LOWERINGS: dict[type[Operation], Lowering] = {
    infer.LinearOp: _linear,
    infer.EmbedOp: _embed,
    infer.RmsNormOp: _rms_norm,
    infer.RopeOp: _rope,
    infer.AddOp: _add,
    infer.GatedActOp: _gated_act,
    infer.ScaleOp: _scale,
    infer.SelectLastOp: _select_last,
    infer.StateAppendOp: _append,
    infer.AttendOp: _attend,
}


def lower(func: kernel.FuncOp, module: ModuleOp) -> list[str]:
    """Lines of a correct C body for the kernel.

    Raises DiagnosticError for an op without a lowering, or a result that has no memory.
    """
    region = func.semantics.block
    names: Names = {a: n.data for a, n in zip(region.args, func.arguments, strict=True)}
    last = region.last_op
    assert isinstance(last, kernel.ReturnOp)
    for value, name in zip(last.operands, func.outputs, strict=True):
        names[value] = name.data
    ops = [op for op in region.ops if op is not last]
    for op in ops:
        _check(op, names)
    texts = [LOWERINGS[type(op)](op, names, module) for op in ops]
    alone = ["if (part != 0)", "    return;", "parts = 1;"] if func.parts.data == "none" else []
    if len(texts) == 1:
        return alone + texts[0]
    return alone + [line for text in texts for line in block("", text)]


def _check(op: Operation, names: Names) -> None:
    if type(op) not in LOWERINGS:
        known = ", ".join(sorted(o.name for o in LOWERINGS))
        raise error(f"no C lowering for {op.name}", place_of(op), help=f"there is one for {known}")
    for result in op.results:
        if isinstance(result.type, TensorType) and result not in names:
            raise error(
                f"the result of {op.name} stays inside its group, where no memory holds it",
                place_of(op),
                help="yield it from the group, or leave the op outside",
            )
