"""The arena check: a plan that overwrites what is still to be read is refused."""

from __future__ import annotations

from typing import Any

import pytest
from random_programs import program_of
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import engine
from metainfer.verify.engine.slots import (
    check_slots,
    dead_bytes,
    extents_of,
    live_at,
    meets,
)
from metainfer.verify.engine.steps import buffers_of, entries_of


def put(module: ModuleOp, name: str, offset: int) -> None:
    """Move a buffer."""
    buffers_of(program_of(module))[name].properties["offset"] = IntegerAttr(offset, i64)


def test_a_compiled_plan_is_sound(family: Any) -> None:
    check_slots(family.module())


def test_every_pair_of_buffers_that_live_together_is_held_apart(llama: Any) -> None:
    """Each of the running value's neighbours, put upon it, destroys it."""
    entry = entries_of(program_of(llama.module()))[0]
    names = set(extents_of(program_of(llama.module()), entry)) - {"decode_x", "decode_logits"}
    late = {"decode_last", "decode_z"}  # when they are written nobody needs it any more
    for name in sorted(names - late):
        module = llama.module()
        x = buffers_of(program_of(module))["decode_x"].offset
        assert x is not None
        put(module, name, x.value.data)
        with pytest.raises(DiagnosticError, match="@decode_x was overwritten by"):
            check_slots(module)


def test_a_buffer_past_the_end_is_refused(llama: Any) -> None:
    module = llama.module()
    put(module, "decode_q", program_of(module).properties["arena"].value.data)  # type: ignore[attr-defined]
    with pytest.raises(DiagnosticError, match="@decode_q ends past the arena"):
        check_slots(module)


def test_a_result_over_an_input_is_refused(llama: Any) -> None:
    module = llama.module()
    calls = [c for c in module.walk() if isinstance(c, engine.CallOp)]
    norm = next(c for c in calls if c.callee.root_reference.data == "decode_rms_norm")
    norm.properties["outs"] = ArrayAttr([norm.ins.data[0]])
    with pytest.raises(DiagnosticError, match="@decode_x is written over @decode_x, which"):
        check_slots(module)


def test_a_value_that_nobody_wrote_is_refused(llama: Any) -> None:
    module = llama.module()
    calls = [c for c in module.walk() if isinstance(c, engine.CallOp)]
    next(c for c in calls if c.callee.root_reference.data == "decode_embed").detach()
    with pytest.raises(DiagnosticError, match="@decode_x is read before anything is written"):
        check_slots(module)


def test_what_is_dead_is_what_no_live_buffer_covers(family: Any) -> None:
    program = program_of(family.module())
    for entry in entries_of(program):
        extents = extents_of(program, entry)
        for live in live_at(program, entry).values():
            assert live
            for dead in dead_bytes(extents, live):
                assert not any(meets(dead, extents[name]) for name in live)
