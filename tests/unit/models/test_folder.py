"""Hugging Face folders as checkpoints: names, values, tokenizer facts, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hf_folder import FAMILIES, FORMATS, config_maps, tiny_config, tiny_tensors, write_folder
from tokenizers import Tokenizer, processors

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models.checkpoint import Checkpoint, located, open_checkpoint
from metainfer.models.digest import digest_of
from metainfer.models.source import resolve_source
from metainfer.models.template import chat_template
from metainfer.models.tokenizer import build_tokenizer, encode, tokenizer_facts, tokenizer_json

Floats = Any
END_OF_TURN = 259


def open_(folder: Path) -> Checkpoint:
    return open_checkpoint(folder, FORMATS, config_maps)


def refusal(folder: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        open_(folder)
    text = whole(caught.value)
    assert str(folder) in text
    return text


def whole(problem: DiagnosticError) -> str:
    """All that is printed, places included."""
    return "\n".join(map(str, problem.diagnostics))


def values(checkpoint: Checkpoint, name: str) -> Floats:
    """A tensor's values as float32."""
    tensor = checkpoint.tensors[name]
    raw = checkpoint.data(tensor)
    assert len(raw) == tensor.nbytes
    if tensor.format.name == "bf16":
        wide = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
        return wide.view(np.float32).reshape(tensor.shape)
    kind = {"f32": "<f4", "f16": "<f2"}[tensor.format.name]
    return np.frombuffer(raw, kind).astype(np.float32).reshape(tensor.shape)


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    """Each family that has a map."""
    name: str = request.param
    return name


def edit(folder: Path, name: str, **members: object) -> None:
    """Change members of a JSON file; None removes."""
    path = folder / name
    content = json.loads(path.read_text()) if path.exists() else {}
    content |= members
    path.write_text(json.dumps({key: v for key, v in content.items() if v is not None}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A Llama in BF16."""
    config = tiny_config("llama")
    return write_folder(tmp_path / "model", config, tiny_tensors(config))


def test_every_tensor_has_the_name_its_contract_reads(tmp_path: Path, family: str) -> None:
    from metainfer.knowledge.base import Knowledge
    from metainfer.knowledge.contracts import Family, WeightMap
    from metainfer.resources import ckb_dir

    config = tiny_config(family)
    found = open_(write_folder(tmp_path / "model", config, tiny_tensors(config)))
    knowledge = Knowledge(ckb_dir())
    contract = knowledge.get(f"family/{family}", Family)
    slots = knowledge.get(contract.weight_map, WeightMap)
    names = {slot.source for slot in slots.model.values() if slot.tied is None or not _tied(config)}
    for layer in range(config["num_hidden_layers"]):
        names |= {slot.source.replace("{layer}", str(layer)) for slot in slots.layers.values()}
    assert set(found.tensors) == names
    arch = found.metadata["general.architecture"]
    read = {p.key.replace("{arch}", str(arch)) for p in contract.hparams.values() if p.key}
    assert {key for key in found.metadata if key.startswith(f"{arch}.")} <= read | {
        key.replace("{arch}", str(arch)) for key in contract.refuse
    }


def _tied(config: dict[str, Any]) -> bool:
    return bool(config.get("tie_word_embeddings", config["model_type"] == "gemma3_text"))


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("shards", [1, 3])
def test_values_are_the_stored_ones(tmp_path: Path, dtype: str, shards: int) -> None:
    config = tiny_config("qwen2")
    tensors = tiny_tensors(config)
    kwargs: dict[str, Any] = {"dtype": dtype, "shards": shards}
    found = open_(write_folder(tmp_path / "model", config, tensors, **kwargs))
    atol = {"F32": 0, "F16": 2e-3, "BF16": 2**-6}[dtype]
    pairs = {
        "token_embd.weight": "model.embed_tokens.weight",
        "blk.1.attn_q.weight": "model.layers.1.self_attn.q_proj.weight",
        "blk.0.attn_k.bias": "model.layers.0.self_attn.k_proj.bias",
        "blk.1.ffn_down.weight": "model.layers.1.mlp.down_proj.weight",
        "output_norm.weight": "model.norm.weight",
    }
    for name, original in pairs.items():
        np.testing.assert_allclose(values(found, name), tensors[original], rtol=0, atol=atol * 4)
        matrix = tensors[original].ndim == 2
        assert found.tensors[name].format.name == (dtype.lower() if matrix else "f32")


def test_rows_of_q_and_k_are_paired_for_llama(tmp_path: Path) -> None:
    """As the converter: row order 0, 4, 1, 5, ... in each head of 8."""
    config = tiny_config("llama")
    tensors = tiny_tensors(config)
    found = open_(write_folder(tmp_path / "model", config, tensors, dtype="F32"))
    order = [0, 4, 1, 5, 2, 6, 3, 7]
    for short, heads in (("q", 4), ("k", 2)):
        rows = [8 * head + row for head in range(heads) for row in order]
        stored = tensors[f"model.layers.1.self_attn.{short}_proj.weight"]
        paired = values(found, f"blk.1.attn_{short}.weight")
        np.testing.assert_array_equal(paired, stored[rows])
        # What it is for: neighbours turn here by the angle by which the halves turn there.
        half, near = _rope_half(stored, heads), _rope_neighbours(paired, heads)
        np.testing.assert_array_equal(half[rows], near)


def _angles() -> Floats:
    return 1.5 * 10000.0 ** (-np.arange(4) / 4.0)


def _rope_half(rows: Floats, heads: int) -> Floats:
    low, high = np.moveaxis(rows.reshape(heads, 2, 4, -1), 1, 0)
    c, s = np.cos(_angles())[:, None], np.sin(_angles())[:, None]
    return np.stack([low * c - high * s, high * c + low * s], axis=1).reshape(heads * 8, -1)


def _rope_neighbours(rows: Floats, heads: int) -> Floats:
    even, odd = np.moveaxis(rows.reshape(heads, 4, 2, -1), 2, 0)
    c, s = np.cos(_angles())[:, None], np.sin(_angles())[:, None]
    return np.stack([even * c - odd * s, odd * c + even * s], axis=2).reshape(heads * 8, -1)


def test_gemma_norms_get_their_one(tmp_path: Path) -> None:
    config = tiny_config("gemma3")
    tensors = tiny_tensors(config)
    found = open_(write_folder(tmp_path / "model", config, tensors, dtype="F32"))
    for name, original in {
        "output_norm.weight": "model.norm.weight",
        "blk.5.attn_q_norm.weight": "model.layers.5.self_attn.q_norm.weight",
        "blk.0.post_ffw_norm.weight": "model.layers.0.post_feedforward_layernorm.weight",
    }.items():
        np.testing.assert_array_equal(values(found, name), tensors[original] + np.float32(1))


def test_a_norm_in_bf16_keeps_its_digits(tmp_path: Path) -> None:
    """1 + w is not a BF16 number, so the sum must be a float32."""
    config = tiny_config("gemma3")
    tensors = tiny_tensors(config)
    tensors["model.norm.weight"][:] = np.float32(2.0**-12)
    found = open_(write_folder(tmp_path / "model", config, tensors, dtype="BF16"))
    np.testing.assert_array_equal(values(found, "output_norm.weight"), np.float32(1 + 2.0**-12))


@pytest.mark.parametrize("prefix", ["language_model.", "model.language_model."])
def test_a_text_model_inside_another(tmp_path: Path, prefix: str) -> None:
    inner = tiny_config("gemma3")
    plain = tiny_tensors(inner)
    tensors = {prefix + _inside(name, prefix): array for name, array in plain.items()}
    tensors["vision_tower.patch.weight"] = np.ones((2, 2), np.float32)
    outer = {"model_type": "gemma3", "text_config": inner}
    found = open_(write_folder(tmp_path / "a", outer, tensors, dtype="F32"))
    expected = open_(write_folder(tmp_path / "b", inner, plain, dtype="F32"))
    assert set(found.tensors) == set(expected.tensors)
    name = "blk.3.ffn_up.weight"
    np.testing.assert_array_equal(values(found, name), values(expected, name))


def _inside(name: str, prefix: str) -> str:
    return name if prefix == "language_model." else name.removeprefix("model.")


def test_the_output_matrix(tmp_path: Path) -> None:
    config = tiny_config("llama")
    tensors = tiny_tensors(config)
    untied = open_(write_folder(tmp_path / "a", config, tensors))
    assert "output.weight" in untied.tensors
    tied = open_(write_folder(tmp_path / "b", config | {"tie_word_embeddings": True}, tensors))
    assert "output.weight" not in tied.tensors
    del tensors["lm_head.weight"]
    text = refusal(write_folder(tmp_path / "c", config, tensors))
    assert "has no output matrix" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.update({"model.extra": np.ones(2, np.float32)}), "'model.extra' is not one"),
        (
            lambda t: t.update({"model.layers.01.mlp.up_proj.weight": np.ones((2, 2))}),
            "is not one that llama has",
        ),
        (
            lambda t: t.update(
                {"model.layers.0.self_attn.q_proj.weight": np.ones((12, 24), np.float32)}
            ),
            "has 12 rows, which are not pairs in each of 4 heads",
        ),
    ],
)
def test_wrong_tensors(tmp_path: Path, change: Callable[[Any], object], words: str) -> None:
    config = tiny_config("llama")
    tensors = tiny_tensors(config)
    change(tensors)
    assert words in refusal(write_folder(tmp_path / "model", config, tensors))


def test_missing_files(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert "has neither model.safetensors nor" in refusal(folder)
    (folder / "config.json").unlink()
    assert "config.json: cannot be read: No such file" in refusal(folder)
    with pytest.raises(DiagnosticError, match=r"has no config\.json"):
        resolve_source(f"file:{folder}", None)


def test_the_tokenizer_is_read_when_asked_for(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    found = open_(folder)
    assert found.metadata["llama.block_count"] == 2
    assert found.metadata.get("llama.rope.dimension_count") is None
    with pytest.raises(DiagnosticError) as caught:
        tokenizer_facts(found.metadata)
    assert "tokenizer.json: there is no such file" in str(caught.value)


def test_tokenizer(folder: Path) -> None:
    metadata = open_(folder).metadata
    facts = tokenizer_facts(metadata)
    assert (facts.bos_id, facts.add_bos, facts.vocab_size) == (257, False, 270)
    assert facts.eos_ids == (258, END_OF_TURN)
    tokenizer = build_tokenizer(metadata)
    original = Tokenizer.from_file(str(folder / "tokenizer.json"))
    text = "ab </end> é"
    assert encode(tokenizer, text, parse_special=True) == original.encode(text).ids
    assert 258 not in encode(tokenizer, text, parse_special=False)
    assert Tokenizer.from_str(tokenizer_json(metadata)).decode([256]) == "ab"
    assert metadata["tokenizer.ggml.tokens"][257] == "<s>"  # type: ignore[index]


def test_ends_from_every_file(folder: Path) -> None:
    edit(folder, "generation_config.json", eos_token_id=[1, 258])
    edit(folder, "config.json", eos_token_id=[2])
    assert tokenizer_facts(open_(folder).metadata).eos_ids == (258, 1, 2, END_OF_TURN)


def test_limits_of_length_are_not_ours(folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(folder / "tokenizer.json"))
    found = build_tokenizer(open_(folder).metadata)
    assert len(encode(found, "a b c d", parse_special=False)) == 7


@pytest.mark.parametrize("said", [None, False])
def test_a_begin_token_that_the_tokenizer_adds(folder: Path, said: bool | None) -> None:
    _with_frame(folder, "<s> $A", [("<s>", 257)])
    edit(folder, "tokenizer_config.json", add_bos_token=said)
    assert tokenizer_facts(open_(folder).metadata).add_bos == (said is None)


def test_an_end_token_that_the_tokenizer_adds(folder: Path) -> None:
    _with_frame(folder, "$A </end>", [("</end>", 258)])
    with pytest.raises(DiagnosticError, match="adds other tokens to a prompt"):
        tokenizer_facts(open_(folder).metadata)


def _with_frame(folder: Path, frame: str, special: list[tuple[str, int]]) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(frame, special_tokens=special)
    tokenizer.save(str(folder / "tokenizer.json"))


def test_chat_templates(folder: Path) -> None:
    assert chat_template(open_(folder).metadata) is None
    named = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "yes"}]
    for value, found in [("text", "text"), (named, "yes")]:
        edit(folder, "tokenizer_config.json", chat_template=value)
        assert chat_template(open_(folder).metadata) == found
    (folder / "chat_template.jinja").write_text("newer")
    assert chat_template(open_(folder).metadata) == "newer"


@pytest.mark.parametrize(
    ("file", "members", "words"),
    [
        ("tokenizer_config.json", {"eos_token": "<none>"}, "eos_token '<none>' is not a token"),
        ("tokenizer_config.json", {"bos_token": 3}, "bos_token 3 is not a token"),
        ("tokenizer_config.json", {"add_bos_token": 1}, "add_bos_token 1 is neither true"),
        ("tokenizer_config.json", {"chat_template": 1}, "chat_template is not a text"),
        ("generation_config.json", {"eos_token_id": 270}, "is not a token id below 270"),
        ("generation_config.json", {"eos_token_id": [True]}, "is not a token id below 270"),
        ("config.json", {"bos_token_id": -1}, "bos_token_id -1 is not a token id"),
    ],
)
def test_wrong_facts(folder: Path, file: str, members: dict[str, Any], words: str) -> None:
    edit(folder, file, **members)
    found = open_(folder)
    with pytest.raises(DiagnosticError) as caught:
        tokenizer_facts(found.metadata)
    text = whole(caught.value)
    assert words in text
    assert str(folder) in text


def test_a_tokenizer_that_is_larger_than_the_model(tmp_path: Path) -> None:
    config = tiny_config("llama") | {"vocab_size": 200, "eos_token_id": 1, "bos_token_id": 1}
    found = open_(write_folder(tmp_path / "model", config, tiny_tensors(config)))
    with pytest.raises(DiagnosticError, match="is not below 200"):
        tokenizer_facts(found.metadata)


def test_no_end_token_at_all(folder: Path) -> None:
    edit(folder, "config.json", eos_token_id=None)
    edit(folder, "tokenizer_config.json", eos_token=None)
    with pytest.raises(DiagnosticError, match="no file says which token ends an answer"):
        tokenizer_facts(open_(folder).metadata)


@pytest.mark.parametrize("text", ["", "{}", "[" * 10_000, '{"model": {"type": "BPE"}}', "\0"])
def test_a_broken_tokenizer(folder: Path, text: str) -> None:
    (folder / "tokenizer.json").write_text(text)
    with pytest.raises(DiagnosticError, match="not a tokenizer"):
        tokenizer_facts(open_(folder).metadata)


def test_sources_and_digests(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("METAINFER_CACHE", str(tmp_path / "cache"))
    digest = digest_of(folder)
    assert resolve_source(f"file:{folder.name}", digest, base=tmp_path) == tmp_path / folder.name
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "README.md").write_text("not part of the model")
    assert digest_of(copy) == digest
    edit(copy, "config.json", rms_norm_eps=1e-6)
    assert digest_of(copy) != digest
    with pytest.raises(DiagnosticError, match="wrong SHA-256"):
        resolve_source(f"file:{copy}", digest)


def test_errors_about_metadata_name_the_model(folder: Path) -> None:
    found = open_(folder)
    with pytest.raises(DiagnosticError) as caught, located(found):
        chat_template({"tokenizer.chat_template": 1})
    assert caught.value.diagnostics[0].notes[-1].message == f"in {folder}"


def test_the_vocabulary_has_the_rows_of_the_embeddings(tmp_path: Path) -> None:
    config = tiny_config("qwen2")
    tensors = tiny_tensors(config)
    text = refusal(write_folder(tmp_path / "a", config | {"vocab_size": 271}, tensors))
    assert "has 270 rows, the config says 271 tokens" in text
    del tensors["model.embed_tokens.weight"]
    assert "has no embeddings" in refusal(write_folder(tmp_path / "b", config, tensors))


def test_rows_without_a_token_are_padding(tmp_path: Path) -> None:
    config = tiny_config("qwen2")
    metadata = open_(write_folder(tmp_path / "model", config, tiny_tensors(config))).metadata
    tokens, types = (metadata[f"tokenizer.ggml.{key}"] for key in ("tokens", "token_type"))
    assert isinstance(tokens, list) and isinstance(types, list)
    assert tokens[256:] == ["ab", "<s>", "</end>", "<|im_end|>", *["[UNUSED]"] * 10]
    assert types[256:] == [1, 3, 3, 3, *[5] * 10]
