"""A family's graph with its layers written out one after the other: as many ops as wanted."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from metainfer.ir.symbols import lookup


def unrolled(module: ModuleOp, ops: int, *, only: bool = True) -> ModuleOp:
    """A copy of `module` (stage `expand-model`) with `@unrolled` of about `ops` ops.

    It runs the body of `@layer` again and again, each on the state of the one before. With `only`
    the other functions go.
    """
    module = module.clone()
    layer = lookup(module, "layer", func.FuncOp)
    body = [op for op in layer.body.block.ops if not isinstance(op, func.ReturnOp)]
    block = Block(arg_types=layer.body.block.arg_types)
    for new, old in zip(block.args, layer.body.block.args, strict=True):
        new.name_hint, new.location = old.name_hint, old.location
    x, batch, *states = block.args
    for _ in range(max(1, ops // len(body))):
        x, *states = _once(layer, body, block, [x, batch, *states])
    last = layer.body.block.last_op
    assert last is not None
    block.add_op(_at(func.ReturnOp.create(operands=[x, *states]), last))
    whole = func.FuncOp("unrolled", layer.function_type, Region(block))
    whole.attributes |= layer.attributes
    if only:
        for other in [op for op in module.ops if isinstance(op, func.FuncOp)]:
            other.detach()
            other.erase()
    module.body.block.add_op(_at(whole, layer))
    return module


def _once(
    layer: func.FuncOp, body: list[Operation], block: Block, arguments: list[SSAValue]
) -> list[SSAValue]:
    values: dict[SSAValue, SSAValue] = dict(zip(layer.body.block.args, arguments, strict=True))
    for op in body:
        block.add_op(op.clone(values))
    last = layer.body.block.last_op
    assert last is not None
    return [values[v] for v in last.operands]


def _at(op: Operation, source: Operation) -> Operation:
    op.location = source.location
    return op
