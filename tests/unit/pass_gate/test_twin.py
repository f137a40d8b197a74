"""Twins: small, every relation kept, nothing alike that need not be."""

from __future__ import annotations

import pytest
from families import FAMILIES, stages
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from metainfer.driver.validate.layers import schedules
from metainfer.driver.validate.twin import twins_of
from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import parse_module
from metainfer.ir.verify import verify_module

MODELS = (*FAMILIES, "quantised")
STAGES = ("expand-model", "fuse", "outline-kernels", "schedule")


def twin(name: str, stage: str) -> ModuleOp:
    """The twin of a model at a stage, which must be a small one."""
    twins = twins_of(stages(name).after(stage), stages(name).after(stage))
    assert twins.why_not_small == ""
    return twins.right


def ops(module: ModuleOp, kind: type[Operation]) -> list:  # type: ignore[type-arg]
    return [op for op in module.walk() if isinstance(op, kind)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_a_sound_twin(name: str, stage: str) -> None:
    module = twin(name, stage)
    module.verify()
    if not any(layers for op in schedules(module) if (layers := _gaps(op))):
        verify_module(module)


def _gaps(op: Operation) -> bool:
    numbers = [n for _, a, b in op.schedule.steps() for n in range(a, b + 1)]  # type: ignore[attr-defined]
    return numbers != list(range(len(numbers)))


@pytest.mark.parametrize("name", MODELS)
def test_no_two_sizes_are_alike(name: str) -> None:
    module = twin(name, "expand-model")
    attend = ops(module, infer.AttendOp)[0]
    heads = {n: attend.properties[n].value.data for n in ("q_heads", "kv_heads", "head_dim")}
    embedding = lookup(module, "token_embd", infer.WeightOp).type
    ffn = next(w for w in all_of(module, infer.WeightOp) if w.slot.data == "ffn_up").type
    wide = [*sizes(embedding), sizes(ffn)[0], sizes(attend.q.type)[-1]]
    wide.append(heads["kv_heads"] * heads["head_dim"])
    group = heads["q_heads"] // heads["kv_heads"]
    # One KV head is as wide as all of them, one query head per KV head as the other.
    assert len({*wide, heads["head_dim"]}) == len(wide) + (heads["kv_heads"] > 1)
    assert group == _group(stages(name).after("expand-model"))


def _group(module: ModuleOp) -> int:
    attend = ops(module, infer.AttendOp)[0]
    return attend.q_heads.value.data // attend.kv_heads.value.data


@pytest.mark.parametrize("name", MODELS)
def test_rows_have_two_blocks_and_avoid_the_tile_where_they_may(name: str) -> None:
    module = twin(name, "expand-model")
    seen = set()
    for weight in all_of(module, infer.WeightOp):
        columns = weight.type.get_shape()[-1]
        if isinstance(weight.type.element_type, infer.QuantType):
            format_ = lookup(module, weight.type.element_type.format.data, infer.FormatOp)
            block = format_.block.value.data
            assert columns % block == 0 and columns >= 2 * block
            seen.add(block)
        elif name != "quantised" and weight.slot.data in ("ffn_down", "ffn_up"):
            assert columns % 16
            seen.add(1)
    assert seen == ({32} if name == "quantised" else {1})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("stage", ["expand-model", "outline-kernels", "plan-memory"])
def test_every_kind_of_layer_runs_twice(name: str, stage: str) -> None:
    module = twin(name, stage)
    weights = all_of(module, infer.WeightOp)
    running = schedules(module)
    assert running
    for op in running:
        kinds: dict[str, list[int]] = {}
        for function, first, last in op.schedule.steps():
            kinds.setdefault(function, []).extend(range(first, last + 1))
        assert all(2 <= len(layers) <= 4 for layers in kinds.values())
        mine = {n for layers in kinds.values() for n in layers}
        stored = {n for w in weights if w.layers for n in w.layers}
        assert mine == stored


def test_windows_are_narrower_than_what_is_attended_to() -> None:
    module = twin("gemma3", "expand-model")
    windows = {op.window.value.data for op in ops(module, infer.AttendOp) if op.window}
    assert windows == {op.window.value.data for op in ops(module, infer.StateOp) if op.window}
    assert windows and max(windows) < 8


def test_twins_of_both_sides_of_a_pass_have_one_set_of_sizes() -> None:
    for before, after in (("select-layouts", "outline-kernels"), ("fill-kernels", "schedule")):
        twins = twins_of(stages("quantised").after(before), stages("quantised").after(after))
        shapes = [
            {w.sym_name.data: w.type.get_shape() for w in all_of(m, infer.WeightOp)}
            for m in (twins.left, twins.right)
        ]
        assert shapes[0] == shapes[1]


def test_the_module_is_left_as_it_is() -> None:
    module = stages("tiny").after("outline-kernels")
    text = str(module)
    twins_of(module, module)
    assert str(module) == text


def test_sizes_that_only_happen_to_be_equal_come_apart() -> None:
    # The queries are as wide as the hidden state here: 6 heads of 16, and 96.
    before = stages("tiny").after("expand-model")
    assert sizes(lookup(before, "attn_q", infer.WeightOp).type) == (96, 96)
    rows, columns = sizes(lookup(twins_of(before, before).left, "attn_q", infer.WeightOp).type)
    assert rows != columns


X = "tensor<?x8xf32, #infer.dims<tokens, _>>"
UNKNOWN = f"""\
func.func @f(%a: {X}) -> {X} attributes {{dims = #infer.ranges<tokens = 1 to 9>}} {{
  %c = "test.op"(%a) : ({X}) -> {X}
  func.return %c : {X}
}}
"""


def test_an_op_whose_sizes_are_not_known_keeps_the_module_at_its_size() -> None:
    ctx = stages("tiny").ctx
    ctx.allow_unregistered = True
    try:
        module = parse_module(UNKNOWN, "in.mlir", ctx)
    finally:
        ctx.allow_unregistered = False
    twins = twins_of(module, module)
    assert "nothing is known of the sizes of" in twins.why_not_small
    assert str(all_of(twins.left, func.FuncOp)[0]) == str(all_of(module, func.FuncOp)[0])


def test_a_lost_relation_keeps_the_module_at_its_size() -> None:
    module = stages("tiny").after("outline-kernels")
    function = next(f for f in all_of(module, kernel.FuncOp) if ops_of(f, infer.AttendOp))
    attend = ops_of(function, infer.AttendOp)[0]
    attend.properties["kv_heads"] = attend.q_heads
    twins = twins_of(module, module)
    assert twins.why_not_small == "infer.attend: 6 and 2 should be one size"
    kept = [op.type for op in all_of(twins.left, infer.WeightOp)]
    assert kept == [op.type for op in all_of(module, infer.WeightOp)]
    assert all(isinstance(t, TensorType) for t in kept)


def ops_of(function: kernel.FuncOp, kind: type[Operation]) -> list:  # type: ignore[type-arg]
    return [op for op in function.walk() if isinstance(op, kind)]
