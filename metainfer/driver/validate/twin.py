"""Twins of two modules: the same programs over small sizes and few layers, equal in both.

before: hidden 576, ffn 1536, 9 heads of 64 with 3 KV heads, 49152 tokens, layers 0 to 29
after:  hidden 64, ffn 96, 6 heads of 32 with 2 KV heads, 10 tokens, layers 0 to 1

Sizes that the ops do not tie together become different ones, even where they were equal. What a
layer is, its equations, constants and weights' names stay.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from metainfer.driver.validate.choice import small_sizes
from metainfer.driver.validate.layers import cut, kept_layers
from metainfer.driver.validate.relations import gather
from metainfer.driver.validate.sizes import Axis, Sizes, Unscalable
from metainfer.ir.dialects import engine, infer, kernel

FIRST_WINDOW = 3
"""The narrowest window of a twin: shorter than what its calls attend to."""


@dataclass(frozen=True)
class Twins:
    """Small copies of two modules that stand for them."""

    left: ModuleOp
    right: ModuleOp
    why_not_small: str = ""
    """Why the sizes had to stay as they are; empty if they did not."""


def twins_of(left: ModuleOp, right: ModuleOp) -> Twins:
    """Twins of a module before and after a pass; the given ones are left as they are.

    Weights of one checkpoint tensor, states of one name and functions of one name have the same
    sizes in both.
    """
    pair = (left.clone(), right.clone())
    kept = kept_layers(pair)
    for module in pair:
        cut(module, kept)
    try:
        small = _small(pair)
    except Unscalable as problem:
        return Twins(*pair, why_not_small=str(problem))
    windows = _windows(pair)
    for module in pair:
        _resize(module, small, windows)
    return Twins(*pair)


def _small(pair: tuple[ModuleOp, ModuleOp]) -> Mapping[Axis, int]:
    sizes = Sizes()
    for module in pair:
        gather(module, sizes)
    first, second = (dict(_shared(module, sizes)) for module in pair)
    for name in first.keys() & second.keys():
        if _numbers(first[name], sizes) == _numbers(second[name], sizes):
            sizes.match(first[name], second[name], str(name))
    return small_sizes(sizes)


def _numbers(axes: Mapping[int, Axis], sizes: Sizes) -> dict[int, int]:
    return {number: sizes.size[axis] for number, axis in axes.items()}


def _shared(module: ModuleOp, sizes: Sizes) -> Iterator[tuple[object, dict[int, Axis]]]:
    """What both modules have, by a name that passes keep."""
    for op in module.ops:
        if isinstance(op, infer.WeightOp):
            yield (op.source.data, str(op.layers)), sizes.axes(op, op.type)
        if isinstance(op, infer.StateOp):
            yield op.sym_name.data, sizes.axes((op, "k"), op.k)  # type: ignore[arg-type]
        if isinstance(op, func.FuncOp | kernel.FuncOp):
            for number, value in enumerate(_block(op).args):
                yield (op.sym_name.data, number), sizes.of(value)


def _block(op: func.FuncOp | kernel.FuncOp) -> Block:
    return op.body.block if isinstance(op, func.FuncOp) else op.semantics.block


def _windows(pair: tuple[ModuleOp, ModuleOp]) -> dict[int, int]:
    """A narrow window for each one of the modules, the wider the wider."""
    ops = [op for module in pair for op in module.walk()]
    found = {_window(op) for op in ops if _window(op)}
    return {old: FIRST_WINDOW + number for number, old in enumerate(sorted(found))}


def _window(op: Operation) -> int:
    if isinstance(op, infer.AttendOp | infer.StateOp) and op.window is not None:
        return op.window.value.data
    return 0


# === Writing the sizes in ===


def _resize(module: ModuleOp, small: Mapping[Axis, int], windows: Mapping[int, int]) -> None:
    for op in list(module.walk()):
        for name in ("q_heads", "kv_heads", "head_dim"):
            if (op, name) in small:
                op.properties[name] = IntegerAttr(small[op, name], i64)
        if _window(op):
            op.properties["window"] = IntegerAttr(windows[_window(op)], i64)
        if isinstance(op, infer.WeightOp | engine.BufferOp):
            op.properties["type"] = _resized(op, op.type, small)
        if isinstance(op, infer.StateOp):
            op.properties["k"] = _resized((op, "k"), op.k, small)
            op.properties["v"] = _resized((op, "v"), op.v, small)
        _retype(op, small)
    for function in module.ops:
        if isinstance(function, func.FuncOp | kernel.FuncOp):
            function.properties["function_type"] = _signature(_block(function))


def _retype(op: Operation, small: Mapping[Axis, int]) -> None:
    blocks = [block for region in op.regions for block in region.blocks]
    values: list[SSAValue] = [*op.results, *(a for block in blocks for a in block.args)]
    for value in values:
        new = _resized(value, value.type, small)
        if new != value.type:
            Rewriter.replace_value_with_new_type(value, new)


def _resized(holder: Hashable, type_: Attribute, small: Mapping[Axis, int]) -> Attribute:
    if not isinstance(type_, TensorType):
        return type_
    shape = [small.get((holder, number), size) for number, size in enumerate(type_.get_shape())]
    return TensorType(type_.element_type, shape, type_.encoding)


def _signature(block: Block) -> FunctionType:
    last = block.last_op
    assert last is not None
    return FunctionType.from_lists(list(block.arg_types), list(last.operand_types))
