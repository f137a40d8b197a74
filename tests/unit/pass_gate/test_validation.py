"""The pass gate: every pass of the pipeline holds, and what a wrong one does is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from families import FAMILIES, stages, validate
from tiny_pipeline import named
from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from metainfer.driver.session import reading_context
from metainfer.driver.validation import STRUCTURAL
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import engine, infer, kernel, plan
from metainfer.ir.dims import LayersAttr, RangesAttr, ScheduleAttr
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import parse_module
from metainfer.passes.fuse import Fuse
from metainfer.passes.pipelines import DEFAULT, PASSES
from metainfer.passes.specialize_entries import SpecializeEntries

MODELS = (*FAMILIES, "quantised")


@dataclass(frozen=True)
class Done(ModulePass):
    """A pass that has run; with the name of one of the pipeline it is held to equal bits."""

    name = "user-pass"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise AssertionError


def refusal(before: ModuleOp, after: ModuleOp, one: ModulePass) -> str:
    """The first message that the gate has."""
    with pytest.raises(DiagnosticError) as caught:
        validate(before, after, one)
    return caught.value.diagnostics[0].message


@pytest.mark.parametrize("name", MODELS)
def test_every_pass_of_the_pipeline_keeps_all_bits(name: str) -> None:
    calls = {}
    for one in DEFAULT:
        before, after = stages(name).before(one), stages(name).after(one)
        calls[one] = validate(before, after, PASSES[one]()()).calls
    # Nothing can be run before there are functions; from then on every pass is held to something.
    assert [one for one, count in calls.items() if not count] == ["resolve-model", "expand-model"]
    assert set(calls) == STRUCTURAL


# === What a pass may get wrong ===

Change = Callable[[ModuleOp], None]


def of(module: ModuleOp, name: str, number: int = 0) -> Operation:
    return named(module, name)[number]


def _eps(module: ModuleOp) -> None:
    of(module, "infer.rms_norm").properties["eps"] = FloatAttr(1.0000001e-5, f64)


def _outer_weight(module: ModuleOp) -> None:
    ref = next(r for r in named(module, "infer.weight_ref") if r.result.name_hint == "ffn_up")  # type: ignore[attr-defined]
    ref.properties["weight"] = SymbolRefAttr("ffn_gate")


def _keys_for_values(module: ModuleOp) -> None:
    append = of(module, "infer.state_append")
    append.operands[1], append.operands[2] = append.operands[2], append.operands[1]


def _window(module: ModuleOp) -> None:
    attend = next(a for a in named(module, "infer.attend") if "window" in a.properties)
    attend.properties["window"] = IntegerAttr(attend.properties["window"].value.data + 1, i64)  # type: ignore[attr-defined]


def _last_layer(module: ModuleOp) -> None:
    for op in named(module, "infer.layers"):
        steps = op.schedule.steps()  # type: ignore[attr-defined]
        op.properties["schedule"] = ScheduleAttr.of(steps[:-1])


def _other_kind(module: ModuleOp) -> None:
    op = of(module, "infer.layers")
    steps = op.schedule.steps()  # type: ignore[attr-defined]
    names = [steps[1][0], steps[0][0], *(name for name, _, _ in steps[2:])]
    kinds = [(n, a, b) for n, (_, a, b) in zip(names, steps, strict=True)]
    op.properties["schedule"] = ScheduleAttr.of(kinds)


def _fewer_tokens(module: ModuleOp) -> None:
    for op in named(module, "func.func"):
        dims = op.attributes["dims"].as_dict()  # type: ignore[attr-defined]
        if dims["tokens"][1] > 4:
            first, last = dims["tokens"]
            op.attributes["dims"] = RangesAttr.of(dims | {"tokens": (first, last - 1)})


FUNCTIONS = [
    ("tiny", "specialize-entries", _eps, "the first difference is in infer.rms_norm (%h)"),
    ("tiny", "fuse", _outer_weight, "the first difference is in infer.weight_ref (%ffn_up)"),
    ("tiny", "select-layouts", _keys_for_values, "in infer.state_append (%kv_next)"),
    ("gemma3", "select-layouts", _window, "the first difference is in infer.attend (%attn)"),
    ("quantised", "fuse", _last_layer, "@decode_forward runs other layers than before the pass"),
    ("quantised", "fuse", _other_kind, "@decode_forward runs other layers than before the pass"),
    ("tiny", "specialize-entries", _fewer_tokens, "steps of 1 to 64 tokens were served"),
]


@pytest.mark.parametrize(("name", "one", "change", "message"), FUNCTIONS)
def test_a_pass_that_changes_the_meaning(name: str, one: str, change: Change, message: str) -> None:
    after = stages(name).after(one)
    change(after)
    assert message in refusal(stages(name).before(one), after, PASSES[one]()())


def test_only_passes_of_the_pipeline_are_held_to_equal_bits() -> None:
    """An eps that is off by less than a rounding of the result is within bounds, but not equal."""
    before = stages("tiny").before("fuse")
    after = stages("tiny").after("fuse")
    of(after, "infer.rms_norm").properties["eps"] = FloatAttr(9.9999997473787516e-06 + 3e-17, f64)
    assert validate(before, after, Done()).calls
    assert "infer.rms_norm" in refusal(before, after, PASSES["fuse"]()())


def _ungrouped(module: ModuleOp) -> None:
    """Take the first group apart."""
    group = of(module, "infer.group")
    block = group.parent_block()
    assert block is not None
    members = list(group.regions[0].block.ops)
    for op in members[:-1]:
        op.detach()
        block.insert_op_before(op, group)
    for old, new in zip(group.results, members[-1].operands, strict=True):
        old.replace_all_uses_with(new)
    group.detach()


def test_a_fusion_that_was_left_out() -> None:
    before, after = stages("tiny").before("fuse"), stages("tiny").after("fuse")
    _ungrouped(after)
    assert refusal(before, after, PASSES["fuse"]()()) == (
        "@decode_layer: fusion/qkv was not applied to the ops over %h"
    )
    # An option, a plan and a user's own pass may leave it out.
    assert validate(before, after, Fuse(rules=("fusion/gate_up",))).calls
    assert validate(before, after, Done()).calls
    for op in all_of(after, plan.DecisionOp):
        if op.site.data == "layer:fusion/qkv":
            op.properties["value"] = StringAttr("no")
    assert validate(before, after, PASSES["fuse"]()()).calls


def test_fields_that_are_named_in_another_order() -> None:
    before, after = (f("resolve-model") for f in (stages("tiny").before, stages("tiny").after))
    format_ = lookup(after, "q8_0", infer.FormatOp)
    format_.properties["fields"] = ArrayAttr(list(format_.fields)[::-1])
    message = refusal(before, after, PASSES["resolve-model"]()())
    assert message == "@q8_0 has the fields ['qs', 'd'], its decode region ['d', 'qs']"


def test_a_state_that_is_stored_otherwise_than_planned() -> None:
    before, after = (f("apply-quantization") for f in (stages("tiny").before, stages("tiny").after))
    for op in all_of(after, plan.DecisionOp):
        if op.what.data == "kv":
            op.properties["value"] = StringAttr("f16")
    message = refusal(before, after, PASSES["apply-quantization"]()())
    assert message == "@kv is stored as f32, f32, the plan says f16"


# === Programs ===


def call(module: ModuleOp, callee: str, number: int = 0) -> engine.CallOp:
    found = [c for c in named(module, "engine.call") if c.callee.root_reference.data == callee]  # type: ignore[attr-defined]
    one = found[number]
    assert isinstance(one, engine.CallOp)
    return one


def program(module: ModuleOp) -> engine.ProgramOp:
    return all_of(module, engine.ProgramOp)[0]


def place(module: ModuleOp, name: str) -> Operation:
    return next(
        op
        for op in program(module).body.block.ops
        if op.properties.get("sym_name") == StringAttr(name)
    )


def _other_input(module: ModuleOp) -> None:
    add = call(module, "decode_add")
    add.properties["ins"] = ArrayAttr([add.ins.data[1], add.ins.data[1]])


def _other_pack(module: ModuleOp) -> None:
    norm = call(module, "decode_rms_norm", 1)
    norm.properties["ins"] = ArrayAttr([norm.ins.data[0], SymbolRefAttr("attn_norm")])


def _lost_call(module: ModuleOp) -> None:
    call(module, "decode_gated_act").detach()


def _lost_barrier(module: ModuleOp) -> None:
    before = call(module, "decode_qkv").prev_op
    assert isinstance(before, engine.BarrierOp)
    before.detach()


def _moved(module: ModuleOp, name: str, key: str, by: int) -> None:
    op = place(module, name)
    number = op.properties[key]
    assert isinstance(number, IntegerAttr)
    op.properties[key] = IntegerAttr(number.value.data + by, i64)


def _pack(module: ModuleOp) -> None:
    _moved(module, "attn_k", "offset", -64)


def _streams(module: ModuleOp) -> None:
    _moved(module, "attn_k", "bytes", 64)


def _slab(module: ModuleOp) -> None:
    _moved(module, "kv", "bytes", -64)


def _ring(module: ModuleOp) -> None:
    _moved(module, "kv_local", "ring", -16)


def _slab_layers(module: ModuleOp) -> None:
    place(module, "kv").properties["layers"] = LayersAttr.of([0])


def _narrow(module: ModuleOp) -> None:
    function = lookup(module, "prefill_add", kernel.FuncOp)
    ranges = function.dims.as_dict()
    function.properties["dims"] = RangesAttr.of(ranges | {"tokens": (5, 63)})


def _slot(module: ModuleOp) -> None:
    place(module, "decode_o").properties["offset"] = place(module, "decode_x").properties["offset"]


def _two_logits(module: ModuleOp) -> None:
    """The logits of one entry at the end of the arena, which grows for them."""
    size = program(module).arena
    assert size is not None
    place(module, "prefill_logits").properties["offset"] = size
    program(module).properties["arena"] = IntegerAttr(size.value.data + (1 << 20), i64)


def _wasteful(module: ModuleOp) -> None:
    """A cache line between everything and the start of the arena."""
    for op in program(module).body.block.ops:
        if isinstance(op, engine.BufferOp):
            _moved(module, op.sym_name.data, "offset", 64)
    _arena(module)


def _crooked(module: ModuleOp) -> None:
    _moved(module, "decode_up", "offset", 1 << 20)
    _moved(module, "decode_up", "offset", 4)


def _idle(module: ModuleOp) -> None:
    """A barrier between two calls of which neither touches what the other does."""
    add = call(module, "decode_rope")
    block = add.parent_block()
    assert block is not None
    barrier = engine.BarrierOp.create()
    block.insert_op_before(barrier, add)


def _features(module: ModuleOp) -> None:
    runtime = next(op for op in program(module).body.block.ops if op.name == "engine.runtime")
    features = list(runtime.properties["features"])  # type: ignore[call-overload]
    runtime.properties["features"] = ArrayAttr(features[::-1])


def _arena(module: ModuleOp) -> None:
    size = program(module).arena
    assert size is not None
    program(module).properties["arena"] = IntegerAttr(size.value.data + 64, i64)


def _vector_for_table(module: ModuleOp) -> None:
    embed = call(module, "decode_embed")
    embed.properties["ins"] = ArrayAttr([UnitAttr(), SymbolRefAttr("output_norm")])


PROGRAMS = [
    ("tiny", "schedule", _other_input, "the first difference is in infer.add (%x_attn)"),
    ("tiny", "schedule", _other_pack, "the first difference is in infer.rms_norm"),
    ("tiny", "schedule", _lost_call, "the first difference is in infer.linear (%down)"),
    ("tiny", "schedule", _vector_for_table, "@decode cannot be run: "),
    ("tiny", "schedule", _lost_barrier, "no barrier parts two calls: part 0 of @decode_"),
    ("tiny", "schedule", _idle, "before @decode_rope waits for nothing"),
    ("tiny", "schedule", _features, "features are ['sampling.top_p'"),
    ("tiny", "schedule", _pack, "engine.pack @attn_k: the packs before it end at"),
    ("tiny", "schedule", _streams, "engine.pack @attn_k: a layer of it takes"),
    ("tiny", "schedule", _slab, "engine.state @kv: 64 positions are"),
    ("tiny", "schedule", _slab_layers, "engine.state @kv: it has another context or other layers"),
    ("gemma3", "schedule", _ring, "engine.state @kv_local: its window and a step of 512 tokens"),
    ("tiny", "schedule", _narrow, "@prefill_add is called for tokens 5 to 64, which it is not"),
    ("tiny", "plan-memory", _slot, "shares bytes with"),
    ("tiny", "plan-memory", _crooked, "@decode_up ends past the arena"),
    ("tiny", "plan-memory", _two_logits, "the entries' logits have no one place"),
    ("tiny", "plan-memory", _wasteful, "bytes 0 to 64 of the arena are unused"),
    ("tiny", "plan-memory", _arena, "the buffers end at"),
]


@pytest.mark.parametrize(("name", "one", "change", "message"), PROGRAMS)
def test_a_program_that_is_not_what_it_was(
    name: str, one: str, change: Change, message: str
) -> None:
    before, after = stages(name).before(one), stages(name).after(one)
    change(after)
    assert message in refusal(before, after, PASSES[one]()())


X = "tensor<?x12xf32, #infer.dims<tokens, _>>"
TWO_WIDTHS = f"""\
func.func @f(%x: {X}, %w: tensor<6xf32>, %b: !infer.batch) -> {X} \
attributes {{dims = #infer.ranges<tokens = 1 to 9>}} {{
  %h = infer.rms_norm %x, %w {{eps = 1.0e-05 : f64}} : {X}
  %y = infer.rope %h, %b {{head_dim = 4 : i64, pairing = "half", theta = 1.0e+04 : f64}} : {X}
  func.return %y : {X}
}}
"""


def test_a_module_that_has_no_small_twin_is_run_as_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = parse_module(TWO_WIDTHS, "in.mlir", reading_context())
    after = before.clone()
    assert validate(before, after, Done()).calls
    reason = "a row of heads: 4 and 6 should be one size"
    shown = f"pass user-pass: no small twin of the module can be made: {reason}"
    assert shown in capsys.readouterr().err.replace("6 and 4", "4 and 6")
    of(after, "infer.rope").properties["theta"] = FloatAttr(2e4, f64)
    with pytest.raises(DiagnosticError) as caught:
        validate(before, after, Done())
    assert "infer.rope" in caught.value.diagnostics[0].message
    assert any("no small twin" in note.message for note in caught.value.diagnostics[0].notes)


def test_entries_that_are_not_the_rules() -> None:
    before, whole = stages("tiny").before("specialize-entries"), PASSES["specialize-entries"]
    after = before.clone()
    SpecializeEntries(entries="step 1..64").apply(stages("tiny").ctx, after)
    assert refusal(before, after, whole()()) == "entries end at [64], the rule says [4, 64]"
    # An option and a plan may say so.
    assert validate(before, after, SpecializeEntries(entries="step 1..64")).calls
    for op in all_of(after, plan.DecisionOp):
        if op.what.data == "entries":
            op.properties["by"] = StringAttr("user")
    assert validate(before, after, whole()()).calls
