"""Barriers: enough of them for every order of parts, and none too many."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from random_programs import Call, Program, program_of, programs, stretches
from tiny_pipeline import Stages, detach, tiny_stages, two_kinds_stages
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.dialects import engine
from metainfer.ir.verify import verify_module
from metainfer.passes.barriers import Touches, call_touches, insert_barriers, meet


def entries(program: engine.ProgramOp) -> list[engine.EntryOp]:
    return [op for op in program.body.block.ops if isinstance(op, engine.EntryOp)]


def barriers(module: ModuleOp) -> list[engine.BarrierOp]:
    return [op for op in module.walk() if isinstance(op, engine.BarrierOp)]


def unordered_conflicts(module: ModuleOp, threads: int) -> list[str]:
    """Pairs of calls that no barrier parts although parts of them touch the same bytes."""
    program = program_of(module)
    found = []
    for entry in entries(program):
        for _, calls in stretches(entry, program):
            touches = [call_touches(c, module) for c in calls]
            for second in range(len(calls)):
                for first in range(second):
                    if meet(touches[first], touches[second], threads):
                        found.append(f"{calls[first]} | {calls[second]}")
    return found


def needed(module: ModuleOp, threads: int) -> set[engine.BarrierOp]:
    """Barriers without which, at some layer, two calls would meet."""
    program = program_of(module)
    found: set[engine.BarrierOp] = set()
    for entry in entries(program):
        before: Touches = []
        for barrier, calls in stretches(entry, program):
            after = [t for c in calls for t in call_touches(c, module)]
            if barrier is not None and meet(before, after, threads):
                found.add(barrier)
            before = after
    return found


@pytest.mark.parametrize("stages", [tiny_stages, two_kinds_stages])
def test_a_scheduled_model_has_exactly_the_barriers_it_needs(
    stages: Callable[[], Stages],
) -> None:
    module = stages().after("schedule")
    assert unordered_conflicts(module, 2) == []
    assert len(barriers(module)) > 10
    assert needed(module, 2) == set(barriers(module))


def test_without_any_one_barrier_calls_meet_at_its_place() -> None:
    count = len(barriers(tiny_stages().after("schedule")))
    for number in range(count):
        module = tiny_stages().after("schedule")
        assert unordered_conflicts(module, 2) == []
        detach(barriers(module)[number])
        assert unordered_conflicts(module, 2), number


@given(programs())
def test_any_program_gets_enough_barriers(program: Program) -> None:
    module = program.module()
    insert_barriers(program_of(module), module, 2)
    verify_module(module)
    assert unordered_conflicts(module, 2) == []


@settings(max_examples=20)
@given(programs())
def test_one_thread_never_waits(program: Program) -> None:
    module = program.module()
    insert_barriers(program_of(module), module, 1)
    assert barriers(module) == []


def test_a_loop_without_a_barrier_lets_what_came_before_through() -> None:
    norm, linear = ("early1", "scale"), ("early0", "matrix")
    quiet = (Call("add", ("x", "x"), "x"),)
    program = Program(
        (Call("norm", norm, "early0"),), (quiet,), (0, 0), (Call("linear", linear, "logits"),)
    )
    module = program.module()
    insert_barriers(program_of(module), module, 2)
    assert unordered_conflicts(module, 2) == []
    (barrier,) = barriers(module)
    assert isinstance(barrier.parent_op(), engine.EntryOp)
