"""`outline-kernels`: every group or lone op is a call of a kernel that means the same."""

from __future__ import annotations

from tiny_pipeline import complaint, named, run, tiny_stages, two_kinds_stages
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.ir.dialects import infer, kernel
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import place_of
from metainfer.passes.outline_kernels import meaning_text

COMPUTING = (
    infer.EmbedOp, infer.RmsNormOp, infer.LinearOp, infer.RopeOp, infer.StateAppendOp,
    infer.AttendOp, infer.AddOp, infer.GatedActOp, infer.SelectLastOp,
)  # fmt: skip


def kernels(module: ModuleOp) -> dict[str, kernel.FuncOp]:
    return {f.sym_name.data: f for f in all_of(module, kernel.FuncOp)}


def inlined(module: ModuleOp) -> list[str]:
    """The computing ops in execution order, each call replaced by its kernel's ops."""
    found: list[str] = []
    for function in all_of(module, func.FuncOp):
        for op in function.walk():
            bodies: list[Operation] = [op]
            if isinstance(op, kernel.CallOp):
                callee = lookup(module, op.callee.root_reference.data, kernel.FuncOp)
                bodies = list(callee.semantics.walk())
            found += [
                f"{o.name} {o.properties} {[str(t) for t in (*o.operand_types, *o.result_types)]}"
                for o in bodies
                if isinstance(o, COMPUTING)
            ]
    return found


def test_the_program_is_the_same_with_calls_for_ops() -> None:
    stages = tiny_stages()
    before, module = stages.before("outline-kernels"), stages.after("outline-kernels")
    assert all_of(before, kernel.FuncOp) == []
    assert inlined(module) == inlined(before)
    left = {op.name for f in all_of(module, func.FuncOp) for op in f.body.block.ops}
    assert left == {"infer.weight_ref", "infer.layers", "kernel.call", "func.return"}


def test_kernels_are_named_by_entry_and_role() -> None:
    names = list(kernels(tiny_stages().after("outline-kernels")))
    decode = [n.removeprefix("decode_") for n in names if n.startswith("decode_")]
    prefill = [n.removeprefix("prefill_") for n in names if n.startswith("prefill_")]
    assert len(decode) + len(prefill) == len(names)
    assert decode == prefill
    assert sorted(decode) == sorted(
        "rms_norm qkv rope rope_k_rot state_append attend attn_output add gate_up gated_act "
        "ffn_down embed select_last rms_norm_z output".split()
    )


def test_equal_ops_of_an_entry_share_a_kernel() -> None:
    module = tiny_stages().after("outline-kernels")
    calls = [
        op.callee.root_reference.data
        for op in lookup(module, "decode_layer", func.FuncOp).walk()
        if isinstance(op, kernel.CallOp)
    ]
    # Two norms and two additions of one shape; q and k are rotated in different widths.
    assert calls.count("decode_rms_norm") == calls.count("decode_add") == 2
    assert calls.count("decode_rope") == calls.count("decode_rope_k_rot") == 1
    meanings = [
        (meaning_text(f), f.function_type, f.dims)
        for f in kernels(module).values()
    ]  # fmt: skip
    assert len(set(meanings)) == len(meanings)


def test_kinds_of_layers_share_what_is_equal() -> None:
    names = list(kernels(two_kinds_stages().after("outline-kernels")))
    assert [n for n in names if n.startswith("decode_ffn_down")] == [
        "decode_ffn_down", "decode_ffn_down_down",
    ]  # fmt: skip
    assert [n for n in names if n.startswith("decode_qkv")] == ["decode_qkv"]


def test_the_axis_of_each_kernel() -> None:
    parts = {n: f.parts.data for n, f in kernels(tiny_stages().after("outline-kernels")).items()}
    assert {n.removeprefix("decode_"): p for n, p in parts.items() if n.startswith("decode_")} == {
        "rms_norm": "tokens", "qkv": "rows", "rope": "columns", "rope_k_rot": "columns",
        "state_append": "columns", "attend": "heads", "attn_output": "rows", "add": "columns",
        "gate_up": "rows", "gated_act": "columns", "ffn_down": "rows", "embed": "tokens",
        "select_last": "columns", "rms_norm_z": "tokens", "output": "rows",
    }  # fmt: skip


def test_without_entries_kernels_are_named_after_a_step() -> None:
    stages = tiny_stages()
    module = stages.after("apply-quantization")
    run(stages.ctx, module, "fuse,select-layouts,outline-kernels")
    assert "step_qkv" in kernels(module)
    assert {f.dims.as_dict()["tokens"] for f in kernels(module).values()} == {(1, 64)}


def test_names_are_legal_in_c_and_distinct() -> None:
    stages = tiny_stages()
    module = stages.before("outline-kernels")
    layer = lookup(module, "decode_layer", func.FuncOp)
    for op in layer.walk():
        for result in op.results:
            result.name_hint = "int"
    run(stages.ctx, module, "outline-kernels")
    for function in kernels(module).values():
        names = [n.data for n in (*function.arguments, *function.outputs)]
        assert len(set(names)) == len(names) and "int" not in names


def test_kernels_and_calls_point_at_their_op() -> None:
    module = tiny_stages().after("outline-kernels")
    for op in (*all_of(module, kernel.FuncOp), *named(module, "kernel.call")):
        place = place_of(op)
        assert place is not None and place.file.startswith("ckb/family/llama/")


def test_meaning_does_not_depend_on_names_or_order_of_properties() -> None:
    module = tiny_stages().after("outline-kernels")
    attend = kernels(module)["decode_attend"]
    meaning = meaning_text(attend)
    for op in attend.semantics.walk():
        op.properties = dict(reversed(op.properties.items()))
        for result in op.results:
            result.name_hint = "renamed"
    assert meaning_text(attend) == meaning
    inner = attend.semantics.block.first_op
    assert isinstance(inner, infer.AttendOp)
    inner.properties["scale"] = type(inner.scale)(0.5, 64)
    assert meaning_text(attend) != meaning


def test_it_needs_layouts() -> None:
    stages = tiny_stages()
    for stage in ("resolve-model", "fuse"):
        message = complaint(stages.ctx, stages.after(stage), "outline-kernels")
        assert message == "pass outline-kernels needs: run select-layouts first"
