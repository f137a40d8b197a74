"""Barriers from access sets: where a call touches what other parts may still be working on.

The calls of an entry form a line with a loop over the layers in it. Each stretch of calls is
walked with the accesses since the last barrier; a stretch that can follow several others starts
with a barrier if any of their tails meets its head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation

from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.passes.access import Access, accesses, conflict


@dataclass(frozen=True)
class Touch:
    """One access of a call to a buffer or state of the program."""

    place: Attribute
    write: bool
    share: Access


Touches = list[Touch]


def call_touches(call: engine.CallOp, module: ModuleOp) -> Touches:
    """What a call reads and writes, but for weights and the batch."""
    callee = lookup(module, call.callee.root_reference.data, kernel.FuncOp)
    tensors = [
        n.data
        for n, t in zip(callee.outputs, callee.function_type.outputs, strict=True)
        if not isinstance(t, infer.StateType)
    ]
    places = dict(zip((n.data for n in callee.arguments), call.ins, strict=True))
    places |= dict(zip(tensors, call.outs, strict=True))
    weights = {w.sym_name.data for w in all_of(module, infer.WeightOp)}
    return [
        Touch(places[name], how == "write", share)
        for name, how, share in accesses(callee)
        if isinstance(place := places[name], SymbolRefAttr)
        and place.root_reference.data not in weights
    ]


def meet(before: Touches, after: Touches, threads: int) -> bool:
    """Whether some part's access in `before` conflicts with another part's in `after`."""
    return any(
        a.place == b.place and (a.write or b.write) and conflict(a.share, b.share, threads)
        for a in before
        for b in after
    )


def insert_barriers(program: engine.ProgramOp, module: ModuleOp, threads: int) -> None:
    """Insert the barriers of every entry and block of the program."""
    blocks = {b.sym_name.data: b for b in program.body.block.ops if isinstance(b, engine.BlockOp)}
    walker = _Walker(module, threads)
    for block in blocks.values():
        walker.walk(block.body.block, [])
    for entry in program.body.block.ops:
        if isinstance(entry, engine.EntryOp):
            walker.entry(entry, blocks)


class _Walker:
    def __init__(self, module: ModuleOp, threads: int) -> None:
        self.module, self.threads = module, threads

    def walk(self, block: Block, before: Touches) -> Touches:
        """Insert barriers between the calls of a stretch; returns the accesses left open."""
        pending = list(before)
        for op in list(block.ops):
            if isinstance(op, engine.CallOp):
                pending = self._step(op, pending, block)
        return pending

    def _step(self, call: engine.CallOp, pending: Touches, block: Block) -> Touches:
        touches = call_touches(call, self.module)
        if meet(pending, touches, self.threads):
            _barrier_before(call)
            return touches
        return pending + touches

    def head(self, block: Block) -> Touches:
        """Accesses of a stretch up to its first barrier."""
        return [t for call in _until_barrier(block) for t in call_touches(call, self.module)]

    def tail(self, block: Block) -> Touches:
        """Accesses of a stretch after its last barrier."""
        touches: Touches = []
        for op in block.ops:
            if isinstance(op, engine.BarrierOp):
                touches = []
            elif isinstance(op, engine.CallOp):
                touches += call_touches(op, self.module)
        return touches

    def entry(self, entry: engine.EntryOp, blocks: dict[str, engine.BlockOp]) -> None:
        """The entry's own calls, and the seams around its loop over layers."""
        pending: Touches = []
        for op in list(entry.body.block.ops):
            if isinstance(op, engine.CallOp):
                pending = self._step(op, pending, entry.body.block)
            elif isinstance(op, engine.LayersOp):
                pending = self._loop(op, pending, blocks)

    def _loop(
        self, op: engine.LayersOp, before: Touches, blocks: dict[str, engine.BlockOp]
    ) -> Touches:
        used = [blocks[name] for name in dict.fromkeys(n for n, _, _ in op.schedule.steps())]
        tails = [self.tail(b.body.block) for b in used]
        for block in used:
            head = self.head(block.body.block)
            if any(meet(tail, head, self.threads) for tail in (before, *tails)):
                first = block.body.block.first_op
                assert first is not None
                if not isinstance(first, engine.BarrierOp):
                    _barrier_before(first)
        open_ = [t for tail in tails for t in tail]
        waits = any(isinstance(o, engine.BarrierOp) for b in used for o in b.body.block.ops)
        return open_ if waits else before + open_


def _until_barrier(block: Block) -> Iterator[engine.CallOp]:
    for op in block.ops:
        if isinstance(op, engine.BarrierOp):
            return
        if isinstance(op, engine.CallOp):
            yield op


def _barrier_before(op: Operation) -> None:
    barrier = engine.BarrierOp.create()
    barrier.location = op.location
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(barrier, op)
