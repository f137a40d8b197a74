"""`expand-model`: weights, state, one function per kind of layer, and the forward function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiny_llama import Floats, TinyLlama
from tiny_pipeline import (
    Stages,
    complaint,
    fake_context,
    named,
    tiny_stages,
    two_kinds_stages,
    write_model,
)
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.dialects import infer
from metainfer.ir.dims import LayersAttr
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import place_of
from metainfer.passes.specialize_entries import ranges_of

LAYER_SLOTS = (
    "attn_norm attn_q attn_k attn_v attn_output ffn_norm ffn_gate ffn_up ffn_down"
).split()


def functions(module: ModuleOp) -> list[str]:
    return [f.sym_name.data for f in all_of(module, func.FuncOp)]


def op_names(module: ModuleOp, function: str) -> list[str]:
    ops = lookup(module, function, func.FuncOp).body.block.ops
    return [op.name.split(".")[1] for op in ops if not isinstance(op, infer.WeightRefOp)]


def test_one_kind_of_layer_is_one_function() -> None:
    stages = tiny_stages()
    assert functions(stages.before("expand-model")) == []
    module = stages.after("expand-model")
    assert functions(module) == ["layer", "forward"]
    assert (
        op_names(module, "layer")
        == (
            "rms_norm linear linear linear rope rope state_append attend linear add "
            "rms_norm linear linear gated_act linear add return"
        ).split()
    )
    assert op_names(module, "forward") == (
        "embed layers select_last rms_norm linear return".split()
    )
    for function in all_of(module, func.FuncOp):
        assert ranges_of(function) == {"tokens": (1, 64), "seqs": (1, 1)}


def test_weights_name_their_tensors_and_types() -> None:
    module = tiny_stages().after("expand-model")
    weights = {w.sym_name.data: w for w in all_of(module, infer.WeightOp)}
    assert list(weights) == ["token_embd", "output_norm", *LAYER_SLOTS]
    assert weights["attn_k"].tensor_name(1) == "blk.1.attn_k.weight"
    assert str(weights["attn_k"].type) == 'tensor<32x96x!infer.q<"q4_1">>'
    assert weights["attn_k"].layers == LayersAttr.of([0, 1])
    assert weights["token_embd"].layers is None
    (state,) = all_of(module, infer.StateOp)
    assert (str(state.k), str(state.v)) == ("tensor<2x16xf32>", "tensor<2x16xf32>")
    assert list(state.layers) == [0, 1]


def test_a_tied_output_refers_to_the_embedding() -> None:
    module = tiny_stages().after("expand-model")
    forward = lookup(module, "forward", func.FuncOp)
    references = [
        op.weight.root_reference.data
        for op in forward.body.block.ops
        if isinstance(op, infer.WeightRefOp)
    ]
    assert references == ["token_embd", "output_norm", "token_embd"]
    own = [str(op.properties["weight"]) for op in named(two_kinds_stages().after("expand-model"),
                                                        "infer.weight_ref")]  # fmt: skip
    assert own.count("@output") == 1


def test_layers_of_other_formats_are_another_kind() -> None:
    module = two_kinds_stages().after("expand-model")
    assert functions(module) == ["layer", "layer_1", "forward"]
    weights = {w.sym_name.data: w for w in all_of(module, infer.WeightOp)}
    assert str(weights["ffn_down"].type) == 'tensor<64x96x!infer.q<"q4_1">>'
    assert str(weights["ffn_down_1"].type) == 'tensor<64x96x!infer.q<"q8_0">>'
    assert list(weights["ffn_down"].layers or ()) == [0, 2]
    assert list(weights["ffn_down_1"].layers or ()) == [1, 3, 4]
    assert weights["ffn_down_1"].slot.data == "ffn_down"
    (layers,) = (op for op in module.walk() if isinstance(op, infer.LayersOp))
    assert layers.schedule.steps() == [
        ("layer", 0, 0),
        ("layer_1", 1, 1),
        ("layer", 2, 2),
        ("layer_1", 3, 4),
    ]


def test_ops_point_into_the_template_and_weights_into_the_spec() -> None:
    stages = tiny_stages()
    module = stages.after("expand-model")
    (first, _, _) = named(module, "infer.rms_norm")
    place = place_of(first)
    assert place is not None and place.file == "ckb/family/llama/layer.mlir"
    weight = place_of(all_of(module, infer.WeightOp)[0])
    assert weight is not None and (weight.file, weight.line) == (str(stages.spec), 2)


class _Edited(TinyLlama):
    """A model whose tensors go through `edit`."""

    edit: Callable[[str, Floats], Iterator[tuple[str, Floats]]]

    def tensors(self) -> Iterator[tuple[str, Floats, str]]:
        for name, data, kind in super().tensors():
            for new_name, new_data in type(self).edit(name, data):
                yield new_name, new_data, kind


def refusal(edit: Callable[[str, Floats], Iterator[tuple[str, Floats]]]) -> str:
    kind = type("_Model", (_Edited,), {"edit": staticmethod(edit)})
    stages = Stages(write_model(kind()), fake_context())
    return complaint(stages.ctx, stages.before("expand-model"), "expand-model")


def test_a_missing_tensor_is_named() -> None:
    def drop(name: str, data: Floats) -> Iterator[tuple[str, Floats]]:
        if name != "blk.1.ffn_up.weight":
            yield name, data

    assert refusal(drop) == "the model has no tensor blk.1.ffn_up.weight for ffn_up"


def test_only_a_tied_slot_may_be_missing() -> None:
    def drop(name: str, data: Floats) -> Iterator[tuple[str, Floats]]:
        if name != "output_norm.weight":
            yield name, data

    assert refusal(drop) == "the model has no tensor output_norm.weight for output_norm"


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ("blk.0.attn_q.bias", "blk.{layer}.attn_q.bias"),
        ("rope_freqs.weight", "rope_freqs.weight"),
        ("blk.2.attn_norm.weight", "blk.{layer}.attn_norm.weight"),
    ],
)
def test_an_extra_tensor_is_refused(extra: str, named: str) -> None:
    def add(name: str, data: Floats) -> Iterator[tuple[str, Floats]]:
        yield name, data
        if name == "output_norm.weight":
            yield extra, data

    message = refusal(add)
    assert message == f"weight_map/gguf_llama has no place for these tensors of the model: {named}"


def test_a_wrong_shape_is_refused_with_both_shapes() -> None:
    def cut(name: str, data: Floats) -> Iterator[tuple[str, Floats]]:
        yield name, data[:-16] if name == "blk.1.attn_k.weight" else data

    assert refusal(cut) == "tensor blk.1.attn_k.weight is 16 x 96, attn_k needs 32 x 96"


def test_it_needs_a_resolved_model_and_runs_once() -> None:
    stages = tiny_stages()
    needs = "pass expand-model needs: run resolve-model first"
    assert complaint(stages.ctx, stages.after(""), "expand-model") == needs
    assert complaint(stages.ctx, stages.after("expand-model"), "expand-model") == needs


def test_a_template_with_an_unknown_parameter_is_refused(tmp_path: Path) -> None:
    from shutil import copytree

    from metainfer.passes.context import CompilerContext
    from metainfer.resources import ckb_dir

    copytree(ckb_dir(), tmp_path / "ckb")
    layer = tmp_path / "ckb/family/llama/layer.mlir"
    layer.write_text(layer.read_text().replace("${eps}", "${epsilon}", 1))
    ctx = CompilerContext(ckb=tmp_path / "ckb")
    stages = Stages(tiny_stages().spec, ctx)
    message = complaint(ctx, stages.before("expand-model"), "expand-model")
    assert message == "ckb/family/llama/layer.mlir: unknown parameter 'epsilon'"
