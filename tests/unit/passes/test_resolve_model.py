"""`resolve-model`: the header of the model file becomes part of the spec."""

from pathlib import Path

import gguf
import pytest
from tiny_llama import SPECIALS, TinyLlama, write_spec
from tiny_pipeline import (
    Stages,
    complaint,
    fake_context,
    named,
    tiny_stages,
    two_kinds_stages,
    write_model,
)
from xdsl.dialects.builtin import IntegerAttr

from metainfer.ir.dialects import infer
from metainfer.ir.symbols import all_of
from metainfer.models.digest import digest_of
from metainfer.spec.view import SpecView


def test_the_header_is_written_into_the_spec() -> None:
    stages = tiny_stages()
    before = SpecView(stages.before("resolve-model")).model
    assert (before.digest, before.arch, before.hparams, before.tensors) == (None,) * 4
    model = SpecView(stages.after("resolve-model")).model
    digest = digest_of(stages.spec.with_name("tiny.gguf"))
    assert model.digest is not None and model.digest.data == f"sha256:{digest}"
    assert model.arch is not None and model.arch.data == "llama"
    assert model.hparams is not None
    found = {k: v.value.data for k, v in model.hparams.data.items() if isinstance(v, IntegerAttr)}
    sizes = TinyLlama()
    assert found == {
        "layers": sizes.layers,
        "hidden": sizes.hidden,
        "ffn_dim": sizes.ffn,
        "q_heads": sizes.q_heads,
        "kv_heads": sizes.kv_heads,
        "head_dim": sizes.head_dim,
        "v_head_dim": sizes.head_dim,
        "rope_dim": sizes.head_dim,
        "max_context": sizes.context,
        "vocab": sizes.vocab,
    }


def test_the_tensor_table_has_runs_of_layers_of_one_type() -> None:
    tensors = SpecView(two_kinds_stages().after("resolve-model")).model.tensors
    assert tensors is not None
    assert set(tensors.data) == {
        "token_embd.weight",
        "output.weight",
        "output_norm.weight",
        *(
            f"blk.{{layer}}.{slot}.weight"
            for slot in "attn_norm attn_q attn_k attn_v attn_output ffn_norm ffn_gate ffn_up "
            "ffn_down".split()
        ),
    }
    assert str(tensors.data["blk.{layer}.ffn_down.weight"]) == (
        '[[#infer.layers<0 to 0, 2 to 2>, tensor<64x96x!infer.q<"q4_1">>], '
        '[#infer.layers<1 to 1, 3 to 4>, tensor<64x96x!infer.q<"q8_0">>]]'
    )
    assert str(tensors.data["token_embd.weight"]) == '[[tensor<301x64x!infer.q<"q8_0">>]]'


def test_formats_in_use_are_imported_once_with_their_contract() -> None:
    module = tiny_stages().after("resolve-model")
    formats = {f.sym_name.data: f for f in all_of(module, infer.FormatOp)}
    assert sorted(formats) == ["f32", "q4_1", "q8_0"]
    assert {f.contract.data for f in formats.values()} == {"quant/f32", "quant/q4_1", "quant/q8_0"}
    only = Stages(write_model(TinyLlama(matrices="f32", formats={}, ffn=33)), fake_context())
    found = [f.sym_name.data for f in all_of(only.after("resolve-model"), infer.FormatOp)]
    assert found == ["f32"]


def test_a_known_digest_is_checked_before_the_header_is_read(tmp_path: Path) -> None:
    stages = Stages(write_spec(tmp_path, TinyLlama()), fake_context())
    resolved = stages.after("resolve-model")
    TinyLlama(seed=1).write(tmp_path / "tiny.gguf")
    assert "SHA-256" in complaint(stages.ctx, resolved, "resolve-model")


class _Changed(TinyLlama):
    """A model whose writer is told more, or something else."""

    def _numbers(self, writer: gguf.GGUFWriter) -> None:
        super()._numbers(writer)
        writer.add_uint32("llama.expert_count", 8)


def test_what_the_family_does_not_compute_is_refused(tmp_path: Path) -> None:
    stages = Stages(write_spec(tmp_path, _Changed()), fake_context())
    message = complaint(stages.ctx, stages.after(""), "resolve-model")
    assert message.startswith("the model sets llama.expert_count = 8: mixtures of experts")


class _Foreign(TinyLlama):
    def write(self, path: Path) -> Path:
        writer = gguf.GGUFWriter(path, "llamb")
        writer.add_token_list(list(SPECIALS))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return path


def test_an_unknown_architecture_is_refused(tmp_path: Path) -> None:
    stages = Stages(write_spec(tmp_path, _Foreign()), fake_context())
    assert complaint(stages.ctx, stages.after(""), "resolve-model") == (
        "unknown architecture 'llamb'"
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("  expect { layers == 3 }\n", "the model has layers 2, not layers == 3"),
        ("  parallel { tensor 4 }\n", "tensor 4"),
    ],
)
def test_an_infeasible_spec_is_refused(lines: str, message: str) -> None:
    stages = Stages(write_model(TinyLlama(), lines=lines), fake_context())
    assert message in complaint(stages.ctx, stages.after(""), "resolve-model")


def test_without_an_engine_there_is_nothing_to_resolve() -> None:
    module = tiny_stages().after("")
    for op in named(module, "spec.engine"):
        op.detach()
    assert "expected one 'spec.engine'" in complaint(fake_context(), module, "resolve-model")
