"""What each op says about the sizes of its operands, results and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from metainfer.driver.validate.sizes import Axis, Sizes, Unscalable
from metainfer.ir.dialects import engine, infer, kernel, plan, spec
from metainfer.ir.symbols import symbol_name, symbols

OpT = TypeVar("OpT", bound=Operation)


def gather(module: ModuleOp, sizes: Sizes) -> None:
    """Add everything that the module's ops say; Unscalable for an op that is not known."""
    _Gather(module, sizes).run()


class _Gather:
    def __init__(self, module: ModuleOp, sizes: Sizes) -> None:
        self.module, self.sizes = module, sizes
        self.symbols = symbols(module)
        self.local: Mapping[str, Operation] = {}
        """The symbols of the program that is being read."""

    def run(self) -> None:
        for top in self.module.ops:
            inner = top.body.block.ops if isinstance(top, engine.ProgramOp) else ()
            self.local = {n: op for op in inner if (n := symbol_name(op)) is not None}
            if isinstance(top, _APART):
                continue
            for op in top.walk():
                for value in (
                    *op.results,
                    *(a for r in op.regions for b in r.blocks for a in b.args),
                ):
                    self._cut(self.sizes.of(value), value.type)
                self._op(op)

    def _op(self, op: Operation) -> None:
        relation = RELATIONS.get(type(op))
        if relation is not None:
            relation(self, op)
        elif not isinstance(op, _SILENT) and any(map(_is_sized, (*op.operands, *op.results))):
            raise Unscalable(f"nothing is known of the sizes of {op.name}")

    def find(self, reference: SymbolRefAttr, kind: type[OpT]) -> OpT:
        """What a symbol names, in the program first."""
        name = reference.root_reference.data
        for scope in (self.local, self.symbols):
            found = scope.get(name)
            if isinstance(found, kind):
                return found
        raise Unscalable(f"no {kind.name} @{name}")

    def weight(self, op: infer.WeightOp) -> dict[int, Axis]:
        """The axes of a stored weight."""
        axes = self.sizes.axes(op, op.type)
        self._cut(axes, op.type)
        return axes

    def _cut(self, axes: dict[int, Axis], type_: Attribute) -> None:
        """Note that a quantised tensor's rows consist of blocks."""
        if isinstance(type_, TensorType) and isinstance(type_.element_type, infer.QuantType):
            format_ = self.find(SymbolRefAttr(type_.element_type.format), infer.FormatOp)
            self.sizes.blocks.append((axes[-1], format_.block.value.data))

    def head(self, state: SSAValue) -> tuple[Axis, Axis]:
        """KV heads and the width of one, of a state value; keys and values have the same."""
        assert isinstance(state.type, infer.StateType)
        return self.slab(self.find(state.type.state, infer.StateOp))

    def slab(self, op: infer.StateOp) -> tuple[Axis, Axis]:
        """The axes of a state class."""
        keys = self.sizes.axes((op, "k"), op.k)  # type: ignore[arg-type]
        values = self.sizes.axes((op, "v"), op.v)  # type: ignore[arg-type]
        self.sizes.match(keys, values, op.name)
        return keys[0], keys[1]


_APART = (spec.EngineOp, plan.DecisionOp, infer.FormatOp, infer.LayoutOp, infer.PathOp)
"""What has no sizes of the model, or keeps those of the file."""
_SILENT = (func.ReturnOp, infer.YieldOp, kernel.ReturnOp, arith.ConstantOp)
"""Ops whose operands are spoken for by the op around them."""


def _is_sized(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def _weight(g: _Gather, op: infer.WeightOp) -> None:
    g.weight(op)


def _state(g: _Gather, op: infer.StateOp) -> None:
    g.slab(op)


def _reference(g: _Gather, op: infer.WeightRefOp) -> None:
    g.sizes.match(g.weight(g.find(op.weight, infer.WeightOp)), g.sizes.of(op.result), op.name)


def _embed(g: _Gather, op: infer.EmbedOp) -> None:
    g.sizes.same(g.sizes.of(op.result)[-1], g.sizes.of(op.weight)[-1], op.name)


def _norm(g: _Gather, op: infer.RmsNormOp) -> None:
    g.sizes.values(op.name, op.x, op.result)
    row, run = g.sizes.of(op.x)[-1], g.sizes.of(op.weight)[0]
    if g.sizes.size[row] == g.sizes.size[run]:
        g.sizes.same(row, run, op.name)
    else:
        g.sizes.multiply(row, None, run, op.name)


def _linear(g: _Gather, op: infer.LinearOp) -> None:
    w, y = g.sizes.of(op.weight), g.sizes.of(op.result)
    g.sizes.same(g.sizes.of(op.x)[-1], w[1], op.name)
    g.sizes.same(y[-1], w[0], op.name)
    if op.bias is not None:
        g.sizes.same(g.sizes.of(op.bias)[0], w[0], op.name)


def _rope(g: _Gather, op: infer.RopeOp) -> None:
    g.sizes.values(op.name, op.x, op.result)
    g.sizes.multiply(g.sizes.of(op.x)[-1], None, g.sizes.attribute(op, "head_dim"), op.name)


def _append(g: _Gather, op: infer.StateAppendOp) -> None:
    heads, width = g.head(op.state)
    for value in (op.k, op.v):
        g.sizes.multiply(g.sizes.of(value)[-1], heads, width, op.name)


def _attend(g: _Gather, op: infer.AttendOp) -> None:
    g.sizes.values(op.name, op.q, op.result)
    names = ("q_heads", "kv_heads", "head_dim")
    q_heads, kv_heads, head = (g.sizes.attribute(op, name) for name in names)
    heads, width = g.head(op.state)
    g.sizes.same(kv_heads, heads, op.name)
    g.sizes.same(head, width, op.name)
    g.sizes.multiply(g.sizes.of(op.q)[-1], q_heads, head, op.name)
    g.sizes.ratios.append((q_heads, kv_heads))


def _elementwise(g: _Gather, op: Operation) -> None:
    g.sizes.values(op.name, *op.operands, *op.results)


def _select(g: _Gather, op: infer.SelectLastOp) -> None:
    g.sizes.values(op.name, op.x, op.result)


def _layers(g: _Gather, op: infer.LayersOp) -> None:
    g.sizes.values(op.name, op.x, op.result)
    for name, _, _ in op.schedule.steps():
        block = g.find(SymbolRefAttr(name), func.FuncOp).body.block
        g.sizes.values(op.name, op.x, block.args[0], _returned(block)[0])


def _group(g: _Gather, op: infer.GroupOp) -> None:
    g.sizes.pairs(op.name, _returned(op.body.block), op.results)


def _kernel_call(g: _Gather, op: kernel.CallOp) -> None:
    _call(g, op, g.find(op.callee, kernel.FuncOp).semantics.block)


def _func_call(g: _Gather, op: func.CallOp) -> None:
    _call(g, op, g.find(op.callee, func.FuncOp).body.block)


def _call(g: _Gather, op: Operation, block: Block) -> None:
    g.sizes.pairs(op.name, op.operands, block.args)
    g.sizes.pairs(op.name, op.results, _returned(block))


def _returned(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    if last is None:
        raise Unscalable("a block has no terminator")
    return last.operands


def _buffer(g: _Gather, op: engine.BufferOp) -> None:
    g.sizes.axes(op, op.type)


def _engine_call(g: _Gather, op: engine.CallOp) -> None:
    callee = g.find(op.callee, kernel.FuncOp).semantics.block
    outs = [v for v in _returned(callee) if _is_sized(v)]
    for value, place in (*_bound(op, callee.args, op.ins), *_bound(op, outs, op.outs)):
        if _is_sized(value) and isinstance(place, SymbolRefAttr):
            g.sizes.match(_stored(g, place), g.sizes.of(value), op.name)


def _bound(
    op: engine.CallOp, values: Sequence[SSAValue], places: ArrayAttr[Any]
) -> list[tuple[SSAValue, Attribute]]:
    if len(values) != len(places):
        raise Unscalable(f"{op.name}: {len(places)} places for {len(values)} values")
    return list(zip(values, places, strict=True))


def _stored(g: _Gather, place: SymbolRefAttr) -> dict[int, Axis]:
    name = place.root_reference.data
    found = g.local.get(name)
    if isinstance(found, engine.BufferOp):
        return g.sizes.axes(found, found.type)
    return g.weight(g.find(SymbolRefAttr(StringAttr(name)), infer.WeightOp))


RELATIONS: Mapping[type[Operation], Callable[[_Gather, Any], None]] = {
    infer.WeightOp: _weight,
    infer.StateOp: _state,
    infer.WeightRefOp: _reference,
    infer.EmbedOp: _embed,
    infer.RmsNormOp: _norm,
    infer.LinearOp: _linear,
    infer.RopeOp: _rope,
    infer.StateAppendOp: _append,
    infer.AttendOp: _attend,
    infer.AddOp: _elementwise,
    infer.GatedActOp: _elementwise,
    infer.ScaleOp: _elementwise,
    infer.SelectLastOp: _select,
    infer.LayersOp: _layers,
    infer.GroupOp: _group,
    kernel.CallOp: _kernel_call,
    func.CallOp: _func_call,
    engine.BufferOp: _buffer,
    engine.CallOp: _engine_call,
}
"""By op: what it says."""
