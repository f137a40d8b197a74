"""`plan-memory`: what lives at one time lies apart, and the arena holds everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_programs import Program, executed, program_of, programs
from tiny_pipeline import Stages, complaint, tiny_stages, two_kinds_stages
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr

from metainfer.ir.dialects import engine
from metainfer.passes.barriers import insert_barriers
from metainfer.passes.plan_memory import Live, PlanMemory, first_fit
from metainfer.passes.sizes import ALIGN, buffer_bytes

Span = tuple[int, int]
Intervals = list[Span]


def entries(program: engine.ProgramOp) -> list[engine.EntryOp]:
    return [op for op in program.body.block.ops if isinstance(op, engine.EntryOp)]


def lifetimes(entry: engine.EntryOp, program: engine.ProgramOp) -> dict[str, Intervals]:
    """For each buffer the times, in barriers passed, over which it holds a value of use.

    A write holds at its own time; a read makes the value hold since the access before it. All
    layers are run one after the other, so nothing is assumed about loops.
    """
    time = 0
    latest: dict[str, int] = {}
    found: dict[str, Intervals] = {}
    for op in executed(entry, program):
        if isinstance(op, engine.BarrierOp):
            time += 1
            continue
        for name in _names(op.ins):
            found.setdefault(name, []).append((latest.get(name, time), time))
            latest[name] = time
        for name in _names(op.outs):
            found.setdefault(name, []).append((time, time))
            latest[name] = time
    return found


def _names(symbols: object) -> list[str]:
    return [s.root_reference.data for s in symbols if isinstance(s, SymbolRefAttr)]  # type: ignore[attr-defined]


def overlaps(a: Span, b: Span) -> bool:
    """Whether closed intervals share a point."""
    return a[0] <= b[1] and b[0] <= a[1]


def clashes(module: ModuleOp) -> list[str]:
    """Pairs of buffers of an entry that hold values at one time and share bytes."""
    program = program_of(module)
    assert program.arena is not None
    found = []
    for entry in entries(program):
        spans: dict[str, Span] = {}
        for op in program.body.block.ops:
            if isinstance(op, engine.BufferOp) and op.offset is not None:
                size = buffer_bytes(op.type, entry.dims.as_dict())
                spans[op.sym_name.data] = (op.offset.value.data, op.offset.value.data + size - 1)
        times = {n: t for n, t in lifetimes(entry, program).items() if n in spans}
        assert all(spans[n][0] >= 0 and spans[n][1] < program.arena.value.data for n in times)
        assert all(spans[n][0] % ALIGN == 0 for n in times)
        for a, b in combinations(sorted(times), 2):
            together = any(overlaps(s, t) for s in times[a] for t in times[b])
            if together and overlaps(spans[a], spans[b]):
                found.append(f"{a} {spans[a]} {b} {spans[b]}")
    return found


@given(programs())
def test_no_two_live_buffers_overlap_in_any_program(program: Program) -> None:
    module = program.module()
    insert_barriers(program_of(module), module, 2)
    PlanMemory().apply(Context(), module)
    assert clashes(module) == []


@given(programs(), st.sets(st.integers(0, 30)))
def test_nor_with_any_other_barriers(program: Program, places: set[int]) -> None:
    module = program.module()
    calls = [op for op in module.walk() if isinstance(op, engine.CallOp)]
    for number, call in enumerate(calls):
        block = call.parent_block()
        if number in places and block is not None:
            block.insert_op_before(engine.BarrierOp.create(), call)
    PlanMemory().apply(Context(), module)
    assert clashes(module) == []


@pytest.mark.parametrize("stages", [tiny_stages, two_kinds_stages])
def test_the_model_s_buffers_share_memory_without_a_clash(stages: Callable[[], Stages]) -> None:
    module = stages().after("plan-memory")
    program = program_of(module)
    assert clashes(module) == []
    assert program.arena is not None
    buffers = [op for op in program.body.block.ops if isinstance(op, engine.BufferOp)]
    used = {op.sym_name.data for op in buffers if op.offset is not None}
    assert used == {op.sym_name.data for op in buffers}
    ranges = entries(program)[1].dims.as_dict()
    assert program.arena.value.data < sum(buffer_bytes(op.type, ranges) for op in buffers) / 2


def test_logits_have_one_place_that_nothing_else_takes() -> None:
    program = program_of(tiny_stages().after("plan-memory"))
    names = {e.logits.root_reference.data for e in entries(program)}
    assert names == {"decode_logits", "prefill_logits"}
    for op in program.body.block.ops:
        if isinstance(op, engine.BufferOp):
            assert op.offset is not None
            logits = op.sym_name.data in names
            assert (op.offset.value.data == 0) == logits
            assert logits or op.offset.value.data >= 4 * 301


def test_a_clash_is_seen() -> None:
    module = tiny_stages().after("plan-memory")
    program = program_of(module)
    for op in program.body.block.ops:
        if isinstance(op, engine.BufferOp) and op.sym_name.data in ("prefill_q", "prefill_k"):
            assert op.offset is not None
            op.properties["offset"] = type(op.offset)(4096, 64)
    assert len(clashes(module)) >= 1


lives = st.tuples(st.integers(0, 20), st.integers(0, 10)).map(lambda p: Live(p[0], sum(p)))


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(lives, st.integers(1, 9)), min_size=1)
)
def test_first_fit_keeps_live_buffers_apart(wanted: Mapping[str, tuple[Live, int]]) -> None:
    live = {n: span for n, (span, _) in wanted.items()}
    needs = {n: size for n, (_, size) in wanted.items()}
    places = first_fit(live, needs, 100)
    assert set(places) == set(live) and min(places.values()) >= 100
    for a, b in combinations(live, 2):
        if overlaps((live[a].first, live[a].last), (live[b].first, live[b].last)):
            apart = places[a] + needs[a] <= places[b] or places[b] + needs[b] <= places[a]
            assert apart
    most = max(sum(needs[n] for n in live if live[n].first <= t <= live[n].last) for t in range(32))
    assert max(places[n] + needs[n] for n in live) - 100 >= most


@pytest.mark.parametrize("stage", ["resolve-model", "fill-kernels"])
def test_it_needs_a_program(stage: str) -> None:
    stages = tiny_stages()
    message = complaint(stages.ctx, stages.after(stage), "plan-memory")
    assert message == "pass plan-memory needs: run schedule first"
