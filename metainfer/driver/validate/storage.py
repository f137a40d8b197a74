"""Where a program's weights, states and buffers lie: nothing overlaps, nothing is too small.

Computed from formats, layouts and types alone; the passes' own arithmetic (`passes/sizes.py`,
`schedule`, `plan-memory`) is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute

from metainfer.driver.validate.program import entries
from metainfer.ir.diagnostics import Diagnostic
from metainfer.ir.dialects import engine, infer
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import place_of

LINE = 64
"""Bytes of a cache line, at which everything starts."""
BLOCK = 16
"""Positions that a slab holds side by side."""
FLOAT = 4


def storage_findings(module: ModuleOp) -> Iterator[Diagnostic]:
    """What is wrong with the places of a module's programs; none without a program."""
    for program in all_of(module, engine.ProgramOp):
        yield from _packs(program, module)
        yield from _states(program, module)
        yield from _buffers(program)


def _up(size: int, to: int) -> int:
    return (size + to - 1) // to * to


_Place = engine.PackOp | engine.StateOp | engine.BufferOp


# === Weights ===


def _packs(program: engine.ProgramOp, module: ModuleOp) -> Iterator[Diagnostic]:
    packs = [op for op in program.body.block.ops if isinstance(op, engine.PackOp)]
    weights = all_of(module, infer.WeightOp)
    if [p.sym_name.data for p in packs] != [w.sym_name.data for w in weights]:
        yield Diagnostic("the packs are not the module's weights", place_of(program))
        return
    at = 0
    for pack, weight in zip(packs, weights, strict=True):
        streams, size = _streams(weight, module)
        given = {name: n.value.data for name, n in pack.streams.data.items()}  # type: ignore[attr-defined]
        if given != streams or pack.bytes.value.data != size:
            yield _wrong(pack, f"a layer of it takes {size} bytes with streams at {streams}")
        if pack.layers != weight.layers:
            yield _wrong(pack, "it has other layers than its weight")
        if pack.offset.value.data != at:
            yield _wrong(pack, f"the packs before it end at {at}")
        at = _up(at + size * _count(pack), LINE)
    if program.weights is None or program.weights.value.data != at:
        yield Diagnostic(f"the packs end at {at}, the program says otherwise", place_of(program))


def _count(op: engine.PackOp | engine.StateOp) -> int:
    return len(list(op.layers)) if op.layers is not None else 1


def _streams(weight: infer.WeightOp, module: ModuleOp) -> tuple[dict[str, int], int]:
    """Offset of each field's stream in a layer's stretch, and the bytes of the stretch."""
    shape, encoding = weight.type.get_shape(), weight.type.encoding
    if not isinstance(encoding, SymbolRefAttr):
        return {"w": 0}, _up(FLOAT * prod(shape), LINE)
    lanes = lookup(module, encoding.root_reference.data, infer.LayoutOp).lanes.value.data
    element = weight.type.element_type
    name = element.format.data if isinstance(element, infer.QuantType) else "f32"
    format_ = lookup(module, name, infer.FormatOp)
    blocks = _up(shape[0], lanes) * (shape[1] // format_.block.value.data)
    found, at = {}, 0
    for field, argument in zip(format_.fields, format_.decode.block.args, strict=True):
        found[field.data] = at
        at = _up(at + blocks * infer.field_bytes(argument.type), LINE)
    return found, at


def _wrong(op: _Place, why: str) -> Diagnostic:
    return Diagnostic(f"{op.name} @{op.sym_name.data}: {why}", place_of(op))


# === States ===


def _states(program: engine.ProgramOp, module: ModuleOp) -> Iterator[Diagnostic]:
    slabs = [op for op in program.body.block.ops if isinstance(op, engine.StateOp)]
    states = all_of(module, infer.StateOp)
    if [s.sym_name.data for s in slabs] != [s.sym_name.data for s in states]:
        yield Diagnostic("the slabs are not the module's states", place_of(program))
        return
    step = max(_most(e.dims.as_dict(), "tokens") for e in entries(module).values())
    at = 0
    for slab, state in zip(slabs, states, strict=True):
        positions, ring = _positions(slab, state, step)
        size = _up(positions * state.bytes_per_token(), LINE)
        if (slab.ring.value.data if slab.ring is not None else None) != ring:
            yield _wrong(slab, f"its window and a step of {step} tokens want a ring of {ring}")
        if slab.bytes.value.data != size or slab.offset.value.data != at:
            yield _wrong(slab, f"{positions} positions are {size} bytes, from {at} on")
        if (slab.context, slab.layers) != (state.context, state.layers):
            yield _wrong(slab, "it has another context or other layers than its state")
        if ring is not None and slab.window != state.window:
            yield _wrong(slab, "it has another window than its state")
        at = _up(at + size * _count(slab), LINE)
    if program.states is None or program.states.value.data != at:
        yield Diagnostic(f"the slabs end at {at}, the program says otherwise", place_of(program))


def _positions(slab: engine.StateOp, state: infer.StateOp, step: int) -> tuple[int, int | None]:
    """Positions that a slab must hold, and the same for a ring that wraps around."""
    context = slab.context.value.data
    if state.window is not None:
        needed = _up(state.window.value.data + step, BLOCK)
        if needed < context:
            return needed, needed
    return _up(context, BLOCK), None


def _most(ranges: dict[str, tuple[int, int]], name: str) -> int:
    return ranges.get(name, (1, 1))[1]


# === Buffers ===


def _buffers(program: engine.ProgramOp) -> Iterator[Diagnostic]:
    """Slots begin at cache lines, and the arena ends where the last one does."""
    if program.arena is None:
        return
    ops = list(program.body.block.ops)
    places = {op.sym_name.data: op.offset for op in ops if isinstance(op, engine.BufferOp)}
    entries_ = [op for op in ops if isinstance(op, engine.EntryOp)]
    logits = {places.get(entry.logits.root_reference.data) for entry in entries_}
    if len(logits) != 1:
        yield Diagnostic("the entries' logits have no one place for the host", place_of(program))
    end = 0
    for op in program.body.block.ops:
        if isinstance(op, engine.BufferOp):
            if op.offset is None or op.offset.value.data % LINE:
                yield _wrong(op, "it has no place at a cache line")
                continue
            end = max(end, op.offset.value.data + _bytes(op.type, _dims_of(op, program)))
    if program.arena.value.data != end:
        yield Diagnostic(f"the buffers end at {end}, the program says otherwise", place_of(program))


def _dims_of(buffer: engine.BufferOp, program: engine.ProgramOp) -> dict[str, tuple[int, int]]:
    """The sizes of the entry whose calls use a buffer."""
    name = buffer.sym_name.data
    ops = program.body.block.ops
    owned = [op for op in ops if isinstance(op, engine.EntryOp) and _uses(op, name, program)]
    return owned[0].dims.as_dict() if owned else {}


def _uses(entry: engine.EntryOp, name: str, program: engine.ProgramOp) -> bool:
    blocks = {b.sym_name.data: b for b in program.body.block.ops if isinstance(b, engine.BlockOp)}
    bodies: list[engine.EntryOp | engine.BlockOp] = [entry]
    for op in entry.body.block.ops:
        if isinstance(op, engine.LayersOp):
            bodies += [blocks[n] for n, _, _ in op.schedule.steps()]
    calls = [op for body in bodies for op in body.body.block.ops if isinstance(op, engine.CallOp)]
    symbols = [s for call in calls for s in (*call.ins, *call.outs, entry.logits)]
    return any(isinstance(s, SymbolRefAttr) and s.root_reference.data == name for s in symbols)


def _bytes(type_: TensorType[Attribute], ranges: dict[str, tuple[int, int]]) -> int:
    most = [_most(ranges, s) if isinstance(s, str) else s for s in sizes(type_)]
    return _up(FLOAT * prod(most), LINE)
