"""Programs run on an arena, parts in adversarial order, against R0 in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from planned import CHUNK, CONTEXT
from random_programs import program_of
from tiny_pipeline import run
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from metainfer.interp.r0 import empty_states, forward
from metainfer.interp.run import Interpreter
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import engine
from metainfer.verify.engine import arena
from metainfer.verify.engine.arena import ArenaEngine, Order
from metainfer.verify.engine.barriers import barrier_table
from metainfer.verify.engine.races import check_races
from metainfer.verify.engine.steps import buffers_of

ORDERS: dict[str, tuple[int, Callable[[], Order]]] = {
    "one part": (1, lambda: arena.ascending),
    "first ahead": (3, lambda: arena.ascending),
    "reverse": (2, lambda: arena.descending),
    "interleaved": (3, arena.in_turn),
    "middle ahead": (3, lambda: arena.ahead(1)),
    "first behind": (2, lambda: arena.behind(0)),
    "any": (2, lambda: arena.shuffled(7)),
}
LENGTHS = (CHUNK, CHUNK, CHUNK - 1, 1, 4)
"""Of the steps: both entries at their edges, and more than Gemma3's rings hold."""


SHORT = (CHUNK, 1, 1)


def outcome(
    family: Any, module: ModuleOp, parts: int, order: Order, lengths: Sequence[int] = LENGTHS
) -> Any:
    """The logits after each step."""
    engine_ = ArenaEngine(
        program_of(module), module, family.reference.weights, parts=parts, order=order
    )
    ids, at, rows = family.ids(CONTEXT), 0, []
    for count in lengths:
        rows.append(engine_.step((ids[at : at + count], at)))
        at += count
    return np.stack(rows)


def reference(family: Any) -> Any:
    """R0's logits after the same steps."""
    interpreter = Interpreter(family.reference.module, family.reference.weights)
    ids, at, rows = family.ids(CONTEXT), 0, []
    states = empty_states(interpreter)
    for count in LENGTHS:
        logits, states = forward(interpreter, [(ids[at : at + count], at)], states)
        rows.append(logits[0])
        at += count
    return np.stack(rows)


def test_every_order_of_parts_gives_r0(family: Any) -> None:
    """Bit for bit: the same operations on the same float64 numbers, only elsewhere in memory."""
    wanted = reference(family)
    for name, (parts, order) in ORDERS.items():
        found = outcome(family, family.module(), parts, order())
        assert found.tobytes() == wanted.tobytes(), name


def test_a_missing_barrier_shows_in_some_order(llama: Any) -> None:
    """What the race check calls needed is needed: every barrier, one after another."""
    sound = outcome(llama, llama.module(), 2, arena.ascending, SHORT)
    unseen = []
    for number, row in enumerate(barrier_table(llama.module())):
        module = llama.module()
        [op for op in module.walk() if isinstance(op, engine.BarrierOp)][number].detach()
        orders = (arena.ascending, arena.descending, arena.in_turn())
        found = (outcome(llama, module, 2, order, SHORT) for order in orders)
        if all(rows.tobytes() == sound.tobytes() for rows in found):
            unseen.append(row.where)
    assert unseen == []


def test_what_the_race_check_calls_unneeded_is(tiny: Callable[[str], Any]) -> None:
    """Gemma3's barriers between append and attention, where the plan does not count on them."""
    gemma = tiny("gemma3")
    module = gemma.stages.after("schedule")
    barriers = [op for op in module.walk() if isinstance(op, engine.BarrierOp)]
    rows = barrier_table(module)
    for barrier, row in zip(barriers, rows, strict=True):
        if not row.needed:
            barrier.detach()
    assert [row.needed for row in rows].count(False) == 4
    run(gemma.stages.ctx, module, "plan-memory")
    check_races(module)
    sound = outcome(gemma, gemma.module(), 2, arena.ascending, SHORT)
    for order in (arena.descending, arena.in_turn(), arena.shuffled(3)):
        assert outcome(gemma, module, 2, order, SHORT).tobytes() == sound.tobytes()


def test_a_slot_that_is_reused_too_early_shows(llama: Any) -> None:
    module = llama.module()
    buffers = buffers_of(program_of(module))
    assert buffers["decode_x"].offset is not None
    buffers["decode_up"].properties["offset"] = buffers["decode_x"].offset
    sound = outcome(llama, llama.module(), 2, arena.ascending, SHORT)
    assert outcome(llama, module, 2, arena.ascending, SHORT).tobytes() != sound.tobytes()


def test_a_ring_that_is_too_short_shows(tiny: Callable[[str], Any]) -> None:
    """Positions that a token still sees are overwritten by its own step."""
    gemma = tiny("gemma3")
    sound = outcome(gemma, gemma.module(), 2, arena.ascending)
    module = gemma.module()
    kinds = [op for op in module.walk() if op.name == "infer.state" and op.is_ring()]  # type: ignore[attr-defined]
    assert kinds
    for kind in kinds:
        kind.properties["room"] = IntegerAttr(16, i64)
    found = outcome(gemma, module, 2, arena.ascending)
    assert found.tobytes() != sound.tobytes()


def test_a_step_that_no_entry_takes_is_refused(llama: Any) -> None:
    module = llama.module()
    made = ArenaEngine(
        program_of(module), module, llama.reference.weights, parts=1, order=arena.ascending
    )
    with pytest.raises(DiagnosticError, match=f"no entry takes {CHUNK + 1} tokens"):
        made.step((llama.ids(CHUNK + 1), 0))
