"""An entry of a program as the line of calls and barriers that a step runs, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.ir.dialects import engine
from metainfer.ir.symbols import all_of


@dataclass(frozen=True)
class Step:
    """A call or a barrier, and the layer that it runs for (None outside the loop over layers)."""

    op: engine.CallOp | engine.BarrierOp
    layer: int | None


def programs_of(module: ModuleOp) -> list[engine.ProgramOp]:
    """The programs of a module: one, once it is scheduled."""
    return all_of(module, engine.ProgramOp)


def entries_of(program: engine.ProgramOp) -> list[engine.EntryOp]:
    """The entries in order."""
    return [op for op in program.body.block.ops if isinstance(op, engine.EntryOp)]


def buffers_of(program: engine.ProgramOp) -> dict[str, engine.BufferOp]:
    """The buffers by name."""
    ops = program.body.block.ops
    return {op.sym_name.data: op for op in ops if isinstance(op, engine.BufferOp)}


def states_of(program: engine.ProgramOp) -> dict[str, engine.StateOp]:
    """The slabs by name."""
    ops = program.body.block.ops
    return {op.sym_name.data: op for op in ops if isinstance(op, engine.StateOp)}


def steps_of(program: engine.ProgramOp, entry: engine.EntryOp) -> Iterator[Step]:
    """Every call and barrier in the order in which one step of the entry runs them."""
    body = program.body.block.ops
    blocks = {op.sym_name.data: op for op in body if isinstance(op, engine.BlockOp)}
    for op in entry.body.block.ops:
        if isinstance(op, engine.CallOp | engine.BarrierOp):
            yield Step(op, None)
        elif isinstance(op, engine.LayersOp):
            for name, first, last in op.schedule.steps():
                inner = list(blocks[name].body.block.ops)
                for layer in range(first, last + 1):
                    yield from _block(inner, layer)


def _block(ops: list[Operation], layer: int) -> Iterator[Step]:
    for op in ops:
        if isinstance(op, engine.CallOp | engine.BarrierOp):
            yield Step(op, layer)
