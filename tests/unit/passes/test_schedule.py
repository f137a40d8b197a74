"""`schedule`: calls over named bytes, one block per kind of layer, one entry per box."""

from __future__ import annotations

import pytest
from random_programs import blocks_of, program_of
from tiny_llama import TinyLlama
from tiny_pipeline import (
    Stages,
    complaint,
    fake_context,
    run,
    tiny_stages,
    two_kinds_stages,
    write_model,
)
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Operation

from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import place_of
from metainfer.passes.sizes import ALIGN


def calls(op: Operation) -> list[str]:
    return [c.callee.root_reference.data for c in op.walk() if isinstance(c, engine.CallOp)]


def entries(module: ModuleOp) -> dict[str, engine.EntryOp]:
    ops = program_of(module).body.block.ops
    return {op.sym_name.data: op for op in ops if isinstance(op, engine.EntryOp)}


def test_functions_become_a_program_of_the_same_calls() -> None:
    stages = tiny_stages()
    before, module = stages.before("schedule"), stages.after("schedule")
    assert all_of(module, func.FuncOp) == []
    wanted = {
        f.sym_name.data: [
            c.callee.root_reference.data for c in f.walk() if isinstance(c, kernel.CallOp)
        ]
        for f in all_of(before, func.FuncOp)
    }
    found = {name: calls(block) for name, block in blocks_of(program_of(module)).items()}
    found |= {f"{name}_forward": calls(entry) for name, entry in entries(module).items()}
    assert found == wanted


def test_entries_keep_their_boxes_and_name_their_logits() -> None:
    found = entries(tiny_stages().after("schedule"))
    assert {n: e.dims.as_dict() for n, e in found.items()} == {
        "decode": {"tokens": (1, 4), "seqs": (1, 1)},
        "prefill": {"tokens": (5, 64), "seqs": (1, 1)},
    }
    assert [str(e.logits) for e in found.values()] == ["@decode_logits", "@prefill_logits"]


def test_layers_run_blocks_by_the_model_s_schedule() -> None:
    module = two_kinds_stages().after("schedule")
    (decode, _) = (op for op in module.walk() if isinstance(op, engine.LayersOp))
    assert decode.schedule.steps() == [
        ("decode_layer", 0, 0),
        ("decode_layer_1", 1, 1),
        ("decode_layer", 2, 2),
        ("decode_layer_1", 3, 4),
    ]
    assert set(blocks_of(program_of(module))) == {
        "decode_layer", "decode_layer_1", "prefill_layer", "prefill_layer_1",
    }  # fmt: skip


def test_packs_lie_one_after_the_other_and_hold_every_weight() -> None:
    module = two_kinds_stages().after("schedule")
    program = program_of(module)
    packs = [op for op in program.body.block.ops if isinstance(op, engine.PackOp)]
    weights = all_of(module, infer.WeightOp)
    assert [p.sym_name.data for p in packs] == [w.sym_name.data for w in weights]
    end = 0
    for pack, weight in zip(packs, weights, strict=True):
        assert pack.layers == weight.layers
        assert pack.offset.value.data == end and end % ALIGN == 0
        starts = [s.value.data for s in pack.streams.data.values() if isinstance(s, IntegerAttr)]
        assert starts == sorted(starts) and starts[0] == 0
        assert all(start % ALIGN == 0 for start in starts)
        assert starts[-1] < pack.bytes.value.data
        end += pack.bytes.value.data * len(list(weight.layers or [0]))
    assert program.weights is not None and program.weights.value.data == end


def test_sizes_of_packs_and_slabs() -> None:
    module = tiny_stages().after("schedule")
    packs = {
        p.sym_name.data: p for p in program_of(module).body.block.ops
        if isinstance(p, engine.PackOp)
    }  # fmt: skip
    # 301 rows padded to 304, three blocks of 32 columns: a 2-byte scale, then 32 bytes.
    assert packs["token_embd"].bytes.value.data == 304 * 3 * 2 + 304 * 3 * 32 + 32
    assert str(packs["token_embd"].streams) == "{d = 0 : i64, qs = 1856 : i64}"
    assert packs["attn_norm"].bytes.value.data == 4 * 96
    (slab,) = (op for op in module.walk() if isinstance(op, engine.StateOp))
    assert slab.bytes.value.data == 2 * 64 * 2 * 16 * 4
    assert program_of(module).states == IntegerAttr(2 * slab.bytes.value.data, 64)


def test_elementwise_kernels_write_in_place() -> None:
    module = tiny_stages().after("schedule")
    for block in blocks_of(program_of(module)).values():
        adds = [
            op for op in block.walk()
            if isinstance(op, engine.CallOp) and str(op.callee).endswith("_add")
        ]  # fmt: skip
        carried = adds[0].outs.data[0]
        for add in adds:
            assert add.ins.data[0] == carried == add.outs.data[0]
    gated = [
        op for op in module.walk()
        if isinstance(op, engine.CallOp) and "gated_act" in str(op.callee)
    ]  # fmt: skip
    assert gated and all(op.outs.data[0] in op.ins.data for op in gated)


def test_a_value_that_is_still_needed_is_not_overwritten() -> None:
    stages = tiny_stages()
    module = stages.before("fuse")
    layer = lookup(module, "decode_layer", func.FuncOp)
    act = next(op for op in layer.walk() if isinstance(op, infer.GatedActOp))
    again = act.clone()
    act.parent_block().insert_op_after(again, act)  # type: ignore[union-attr]
    again.operands[0] = act.gate
    run(stages.ctx, module, "fuse,select-layouts,outline-kernels,fill-kernels,schedule")
    first, second = (
        op for op in blocks_of(program_of(module))["decode_layer"].walk()
        if isinstance(op, engine.CallOp) and "gated_act" in str(op.callee)
    )  # fmt: skip
    assert first.outs.data[0] not in first.ins.data
    assert second.outs.data[0] in second.ins.data


def test_the_batch_is_a_unit() -> None:
    module = tiny_stages().after("schedule")
    embed = next(op for op in entries(module)["decode"].walk() if isinstance(op, engine.CallOp))
    assert isinstance(embed.ins.data[0], UnitAttr) and str(embed.ins.data[1]) == "@token_embd"


def test_the_runtime_has_the_features_of_the_spec() -> None:
    module = tiny_stages().after("schedule")
    (runtime,) = (op for op in module.walk() if isinstance(op, engine.RuntimeOp))
    assert [f.data for f in runtime.features] == [
        "sampling.greedy", "sampling.seed", "sampling.temperature", "sampling.top_k",
        "sampling.top_p",
    ]  # fmt: skip


@pytest.mark.parametrize(("option", "threads"), [("", 2), ("{threads=1}", 1), ("{threads=64}", 64)])
def test_threads_come_from_the_option_or_the_plan(option: str, threads: int) -> None:
    stages = tiny_stages()
    module = run(stages.ctx, stages.before("schedule"), f"schedule{option}")
    assert program_of(module).threads.value.data == threads
    barriers = [op for op in module.walk() if isinstance(op, engine.BarrierOp)]
    assert bool(barriers) == (threads > 1)


@pytest.mark.parametrize("threads", [0, 65])
def test_a_number_of_threads_that_makes_no_sense_is_refused(threads: int) -> None:
    stages = tiny_stages()
    module = stages.before("schedule")
    message = complaint(stages.ctx, module, f"schedule{{threads={threads}}}")
    assert message == f"threads is '{threads}', want a number from 1 to 64"


def test_a_pin_that_is_no_number_of_threads_is_refused() -> None:
    spec = write_model(TinyLlama())
    spec.write_text(spec.read_text().replace("threads 2", "threads 1000"))
    stages = Stages(spec, fake_context())
    message = complaint(stages.ctx, stages.before("schedule"), "schedule")
    assert message == "threads is '1000', want a number from 1 to 64"


def test_a_layer_that_ends_elsewhere_is_refused() -> None:
    stages = tiny_stages()
    module = stages.before("fuse")
    layer = lookup(module, "decode_layer", func.FuncOp)
    last = layer.body.block.last_op
    linear = [op for op in layer.walk() if isinstance(op, infer.LinearOp)][-1]
    assert last is not None
    last.operands[0] = linear.result
    message = complaint(
        stages.ctx, module, "fuse,select-layouts,outline-kernels,fill-kernels,schedule"
    )
    assert message == "@decode_layer does not end in the buffer that it started from"


def test_an_old_state_cannot_be_read_after_its_update() -> None:
    stages = tiny_stages()
    module = stages.before("fuse")
    layer = lookup(module, "decode_layer", func.FuncOp)
    attend = next(op for op in layer.walk() if isinstance(op, infer.AttendOp))
    append = next(op for op in layer.walk() if isinstance(op, infer.StateAppendOp))
    attend.operands[1] = append.state
    message = complaint(
        stages.ctx, module, "fuse,select-layouts,outline-kernels,fill-kernels,schedule"
    )
    assert message == "kernel.call reads a state after it was updated in place"


def test_ops_of_the_program_keep_the_place_they_come_from() -> None:
    module = tiny_stages().after("schedule")
    for op in module.walk():
        if isinstance(op, engine.CallOp | engine.BarrierOp | engine.BufferOp):
            place = place_of(op)
            assert place is not None and place.file.startswith("ckb/family/llama/")


@pytest.mark.parametrize("stage", ["select-layouts", "outline-kernels", "schedule"])
def test_it_needs_filled_kernels_and_functions(stage: str) -> None:
    stages = tiny_stages()
    message = complaint(stages.ctx, stages.after(stage), "schedule")
    assert message == "pass schedule needs: run fill-kernels first"
