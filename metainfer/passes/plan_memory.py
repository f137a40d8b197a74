"""`plan-memory`: a slot in the arena for every buffer.

before: engine.buffer @decode_h {type}
after:  engine.buffer @decode_h {type, offset}; engine.program {arena = bytes}

A buffer is live from its first call to the first barrier after its last one, since until then
some part may still be reading it. Buffers of different entries share the arena freely. Logits
have one place for all entries, so that the host finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr, i64
from xdsl.ir import Operation

from metainfer.ir.dialects import engine
from metainfer.ir.symbols import all_of
from metainfer.passes.base import MetaPass
from metainfer.passes.sizes import buffer_bytes


@dataclass
class Live:
    """Steps of an entry during which a buffer holds something."""

    first: int
    last: int


class PlanMemory(MetaPass):
    """First-fit by size over live ranges, entry by entry."""

    name = "plan-memory"
    summary: ClassVar[str] = "give every buffer its slot in the arena"
    requires: ClassVar[str] = "schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        programs = all_of(op, engine.ProgramOp)
        self.need(len(programs) == 1)
        program = programs[0]
        body = program.body.block
        buffers = {b.sym_name.data: b for b in body.ops if isinstance(b, engine.BufferOp)}
        blocks = {b.sym_name.data: b for b in body.ops if isinstance(b, engine.BlockOp)}
        entries = [e for e in body.ops if isinstance(e, engine.EntryOp)]
        self.need(bool(entries))
        logits = [(e, e.logits.root_reference.data) for e in entries]
        base = max(buffer_bytes(buffers[n].type, e.dims.as_dict()) for e, n in logits)
        arena = base
        for entry, name in logits:
            ranges = entry.dims.as_dict()
            live = live_ranges(entry, blocks)
            live.pop(name)
            buffers[name].properties["offset"] = IntegerAttr(0, i64)
            needs = {n: buffer_bytes(buffers[n].type, ranges) for n in live}
            offsets = first_fit(live, needs, base)
            for buffer, offset in offsets.items():
                buffers[buffer].properties["offset"] = IntegerAttr(offset, i64)
                arena = max(arena, offset + needs[buffer])
        program.properties["arena"] = IntegerAttr(arena, i64)


def live_ranges(entry: engine.EntryOp, blocks: dict[str, engine.BlockOp]) -> dict[str, Live]:
    """Live range of each buffer over the entry's steps, blocks in place of the layers op.

    What is used both inside the loop and outside it lives through the whole loop; so does what a
    block leaves unfinished at its end, for the next layer's first calls to avoid.
    """
    steps = _steps(entry, blocks)
    uses: dict[str, list[int]] = {}
    for number, (op, _) in enumerate(steps):
        if isinstance(op, engine.CallOp):
            for name in (*op.ins, *op.outs):
                if isinstance(name, SymbolRefAttr):
                    uses.setdefault(name.root_reference.data, []).append(number)
    loop = [n for n, (_, inside) in enumerate(steps) if inside]
    known = {b for b in uses if b not in _persistent(entry)}
    return {b: _live(uses[b], steps, loop) for b in sorted(known)}


Step = tuple[Operation, str]
"""An op of an entry, and the block that it is in (empty outside the loop)."""


def _steps(entry: engine.EntryOp, blocks: dict[str, engine.BlockOp]) -> list[Step]:
    steps: list[Step] = []
    for op in entry.body.block.ops:
        if not isinstance(op, engine.LayersOp):
            steps.append((op, ""))
            continue
        for name in dict.fromkeys(n for n, _, _ in op.schedule.steps()):
            steps += [(inner, name) for inner in blocks[name].body.block.ops]
    return steps


def _persistent(entry: engine.EntryOp) -> set[str]:
    program = entry.parent_op()
    assert isinstance(program, engine.ProgramOp)
    return {
        op.sym_name.data
        for op in program.body.block.ops
        if isinstance(op, engine.PackOp | engine.StateOp)
    }


def _live(uses: list[int], steps: list[Step], loop: list[int]) -> Live:
    latest = {steps[n][1]: n for n in uses}
    ends = {block: _barrier_after(n, steps) for block, n in latest.items()}
    inside = [block for block in ends if block]
    if not inside:
        return Live(uses[0], ends[""])
    # Any block may be the last to run, so what it leaves open is open after the loop.
    leaks = any(_block_at(ends[block], steps) != block for block in inside)
    if len(ends) == 1 and not leaks:
        return Live(uses[0], ends[inside[0]])
    last = _barrier_after(loop[-1], steps) if leaks else loop[-1]
    return Live(min(uses[0], loop[0]), max(last, ends.get("", 0)))


def _barrier_after(number: int, steps: list[Step]) -> int:
    """The first barrier after a step, or the end of the steps."""
    rest = range(number + 1, len(steps))
    return next((n for n in rest if isinstance(steps[n][0], engine.BarrierOp)), len(steps))


def _block_at(number: int, steps: list[Step]) -> str:
    return steps[number][1] if number < len(steps) else ""


def first_fit(live: dict[str, Live], needs: dict[str, int], base: int) -> dict[str, int]:
    """Offsets from `base` on, so that buffers live at one time do not overlap."""
    placed: dict[str, int] = {}
    for name in sorted(live, key=lambda n: (-needs[n], n)):
        taken = sorted(
            (placed[p], placed[p] + needs[p]) for p in placed if _meet(live[p], live[name])
        )
        offset = base
        for start, end in taken:
            if offset + needs[name] <= start:
                break
            offset = max(offset, end)
        placed[name] = offset
    return placed


def _meet(a: Live, b: Live) -> bool:
    return a.first <= b.last and b.first <= a.last
