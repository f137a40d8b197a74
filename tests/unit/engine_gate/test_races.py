"""The race check: what it accepts is ordered, and no barrier of a real program can go."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from random_programs import Program, program_of, programs
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64

from metainfer.codegen.c.abi import is_packed
from metainfer.driver.program_check import CheckProgram
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import engine, kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.passes.access import accesses
from metainfer.passes.barriers import insert_barriers
from metainfer.passes.manager import run_passes
from metainfer.verify.engine.barriers import barrier_table
from metainfer.verify.engine.footprint import Share, footprint
from metainfer.verify.engine.races import Races, check_races

PARTS = 5
UNNEEDED = {
    ("gemma3", "schedule"): [
        f"@{entry}_layer_{kind} 3"
        for entry in ("decode", "prefill")
        for kind in ("local", "global")
    ]
}
"""With two heads of keys and two threads each part attends to what it has appended itself; but
the plan then counts on the barrier, and lets what attention writes take a slot from before it."""


def barriers(module: ModuleOp) -> list[engine.BarrierOp]:
    """All barriers, in order."""
    return [op for op in module.walk() if isinstance(op, engine.BarrierOp)]


def set_threads(module: ModuleOp, threads: int) -> None:
    """Change what the program is made for, and nothing else."""
    program_of(module).properties["threads"] = IntegerAttr(threads, i64)


def test_a_compiled_program_has_no_race_and_needs_every_barrier(family: Any) -> None:
    for stage in ("schedule", "plan-memory"):
        module = family.stages.after(stage)
        check_races(module)
        rows = barrier_table(module)
        assert len(rows) == len(barriers(module)) >= 18
        unneeded = [row.where for row in rows if not row.needed]
        assert sorted(unneeded) == sorted(UNNEEDED.get((family.name, stage), []))


def test_without_any_one_barrier_it_is_refused(family: Any) -> None:
    for number in range(len(barriers(family.module()))):
        module = family.module()
        barriers(module)[number].detach()
        with pytest.raises(DiagnosticError, match="no barrier parts two calls"):
            check_races(module)


def test_a_barrier_that_orders_nothing_is_told_apart(llama: Any) -> None:
    module = llama.module()
    barrier = barriers(module)[2]
    block = barrier.parent_block()
    assert block is not None
    block.insert_op_before(engine.BarrierOp.create(), barrier)
    check_races(module)
    unneeded = [row.where for row in barrier_table(module) if not row.needed]
    assert unneeded == ["@decode_layer 3", "@decode_layer 4"]  # either of the two would do


def test_one_thread_races_with_nobody(llama: Any) -> None:
    module = llama.module()
    set_threads(module, 1)
    for barrier in barriers(module):
        barrier.detach()
    check_races(module)


def test_a_program_may_be_sound_for_two_threads_and_not_for_more(llama: Any) -> None:
    """With 3 heads to share, parts 0 and 1 of 2 meet nobody that parts of 3 do."""
    module = llama.module()
    set_threads(module, 64)
    check_races(module)


def test_buffers_that_share_bytes_are_one_memory(llama: Any) -> None:
    """Names alone see nothing wrong when the plan puts two live values into one place."""
    module = llama.module()
    ops = {b.sym_name.data: b for b in module.walk() if isinstance(b, engine.BufferOp)}
    assert ops["decode_q"].offset is not None
    ops["decode_q_rot"].properties["offset"] = ops["decode_q"].offset
    with pytest.raises(DiagnosticError, match="@decode_q_rot, which shares bytes with @decode_q"):
        check_races(module)


def test_a_call_may_race_with_itself(llama: Any) -> None:
    module = llama.module()
    for call in module.walk():
        if isinstance(call, engine.CallOp) and call.callee.root_reference.data == "decode_output":
            call.properties["outs"] = type(call.outs)([call.ins.data[0]])
    with pytest.raises(DiagnosticError, match=r"@decode_output writes .* @decode_output reads"):
        check_races(module)


def test_the_check_stands_around_passes(llama: Any) -> None:
    module = llama.module()
    barriers(module)[0].detach()
    with pytest.raises(DiagnosticError, match="no barrier parts two calls"):
        run_passes(llama.stages.ctx, module, [], checks=[CheckProgram()])


def test_an_axis_that_an_op_does_not_have_is_refused(llama: Any) -> None:
    module = llama.module()
    func = lookup(module, "decode_output", kernel.FuncOp)
    func.properties["parts"] = StringAttr("heads")
    with pytest.raises(DiagnosticError, match=r"is shared by heads, infer\.linear has none"):
        check_races(module)


@settings(max_examples=30)
@given(programs())
def test_barriers_of_any_program_suffice(program: Program) -> None:
    """What `schedule` inserts parts all calls that this check would part."""
    module = program.module()
    insert_barriers(program_of(module), module, 2)
    races = Races(program_of(module), module).all()
    assert [str(r) for r in races if r.first is not r.second] == []


# === Two derivations of what a kernel touches ===


def columns(share: Share, width: int, part: int, parts: int) -> tuple[int, int]:
    """The columns of one part, cut to the value's width."""
    if share.alone:
        return (0, width) if part == 0 else (0, 0)
    return (0, width) if share.columns is None else share.columns.of(part, parts)


def theirs(access: Any, width: int, part: int, parts: int) -> tuple[int, int]:
    """The same of the passes' own access."""
    if access.axis == "first":
        return (0, width) if part == 0 else (0, 0)
    first, end = access.columns(part, parts) if access.axis == "columns" else (0, width)
    return (first, end) if first < end else (0, 0)


WIDTH = 1 << 20


def test_footprints_agree_with_the_accesses_of_the_passes(family: Any) -> None:
    """The same writes; and reads that are never wider."""
    for func in all_of(family.module(), kernel.FuncOp):
        mine, other = footprint(func), list(accesses(func))
        written = {t.name: t.share for t in mine if t.write}
        typed = zip(func.arguments, func.function_type.inputs, strict=True)
        weights = {n.data for n, t in typed if is_packed(t) or "dims" not in str(t)} - set(written)
        assert set(written) == {name for name, how, _ in other if how == "write"}
        for name, how, access in other:
            if name in weights:
                continue
            shares = [written[name]] if how == "write" else _reads(mine, name)
            for share in shares:
                assert share.own_rows == (access.axis == "rows") or how == "read"
                for part in range(PARTS):
                    a, b = columns(share, WIDTH, part, PARTS), theirs(access, WIDTH, part, PARTS)
                    assert a == b or (how == "read" and b[0] <= a[0] and a[1] <= b[1])


def _reads(touches: list[Any], name: str) -> list[Share]:
    return [t.share for t in touches if t.name == name and not t.write]


def test_the_table_reads_as_a_sentence(llama: Any) -> None:
    first = barrier_table(llama.module())[0].as_dict()
    assert first["barrier"] == "@decode_layer 1"
    assert re.fullmatch(
        r"part 0 of @decode_add writes and part 1 of @decode_rms_norm reads @decode_x \(2 parts\)",
        first["without it"],
    )
