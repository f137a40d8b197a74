"""`config.json` in old and new spellings, and what no map holds for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hf_folder import FAMILIES, config_maps, tiny_config

from metainfer.ir.diagnostics import DiagnosticError, Place
from metainfer.models.config import FolderConfig, read_config
from metainfer.models.config_map import parse_config_map

Config = dict[str, Any]
Change = Callable[[Config], object]


def read(tmp_path: Path, config: Config) -> FolderConfig:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config, indent=2))
    return read_config(path, config_maps())


def refusal(tmp_path: Path, config: Config) -> tuple[str, str]:
    """The message, and the line of the file that it points at."""
    with pytest.raises(DiagnosticError) as caught:
        read(tmp_path, config)
    (only,) = caught.value.diagnostics
    assert isinstance(only.place, Place)
    assert only.place.file == str(tmp_path / "config.json")
    lines = (tmp_path / "config.json").read_text().splitlines()
    return only.message, lines[only.place.line - 1][only.place.col - 1 :]


def set_(path: str, value: object) -> Change:
    def change(config: Config) -> None:
        *objects, last = path.split(".")
        for key in objects:
            config = config[key]
        config[last] = value

    return change


def rope(config: Config, **members: object) -> None:
    """Old spelling: everything at the top but the scaling."""
    del config["rope_parameters"]
    config |= members


@pytest.mark.parametrize("family", FAMILIES)
def test_the_newest_spelling(tmp_path: Path, family: str) -> None:
    found = read(tmp_path, tiny_config(family))
    numbers = {key.removeprefix(f"{family}."): v for key, v in found.metadata.items()}
    expected = {
        "general.architecture": family,
        "general.dtype": "bfloat16",
        "block_count": 6 if family == "gemma3" else 2,
        "embedding_length": 24,
        "feed_forward_length": 40,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "attention.key_length": 8,
        "attention.value_length": 8,
        "context_length": 64,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 50000.0,
        "vocab_size": 270,
    }
    if family == "gemma3":
        expected |= {"attention.sliding_window": 16, "rope.freq_base_swa": 10000.0}
    assert numbers == expected
    assert found.tied == (family != "llama")


@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("llama", lambda c: rope(c, rope_theta=50000.0)),
        ("llama", lambda c: rope(c, rope_theta=50000)),
        ("llama", lambda c: rope(c, rope_theta=50000.0, rope_scaling=None)),
        ("llama", lambda c: rope(c, rope_theta=50000, rope_scaling={"type": "default"})),
        ("llama", lambda c: rope(c, rope_theta=50000, rope_scaling={"rope_type": "default"})),
        ("llama", set_("rope_theta", 50000.0)),
        ("llama", lambda c: set_("torch_dtype", c.pop("dtype"))(c)),
        ("llama", lambda c: (c.pop("dtype"), set_("torch_dtype", "torch.bfloat16")(c))),
        ("llama", lambda c: c.pop("hidden_act")),
        ("llama", lambda c: c.pop("architectures")),
        ("llama", lambda c: c.pop("tie_word_embeddings")),
        ("qwen2", lambda c: (c.pop("layer_types"), set_("sliding_window", 4096)(c))),
        ("qwen2", lambda c: rope(c, rope_theta=50000.0)),
        (
            "gemma3",
            lambda c: rope(
                c, rope_theta=50000, rope_local_base_freq=10000, rope_scaling=None,
            ),
        ),
        ("gemma3", lambda c: (c.pop("layer_types"), set_("sliding_window_pattern", 6)(c))),
        ("gemma3", lambda c: (c.pop("layer_types"), set_("_sliding_window_pattern", 6)(c))),
        ("gemma3", lambda c: c.pop("hidden_activation")),
        ("gemma3", set_("tie_word_embeddings", True)),
    ],
)  # fmt: skip
def test_other_spellings_say_the_same(tmp_path: Path, family: str, change: Change) -> None:
    config = tiny_config(family)
    expected = read(tmp_path, config)
    change(config)
    found = read(tmp_path, config)
    assert (found.metadata, found.tied) == (expected.metadata, expected.tied)


def test_a_config_inside_another(tmp_path: Path) -> None:
    inner = tiny_config("gemma3")
    expected = read(tmp_path, inner).metadata
    outer = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "dtype": inner.pop("dtype"),
        "text_config": inner,
        "vision_config": {"hidden_size": 1152},
    }
    del inner["architectures"]
    assert read(tmp_path, outer).metadata == expected
    inner["head_dim"] = -1
    message, at = refusal(tmp_path, outer)
    assert "head_dim = -1 is not a number" in message
    assert at.startswith('"head_dim": -1')


def test_what_transformers_leaves_out(tmp_path: Path) -> None:
    """Members of a held config that equal the default are not written."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34}
    outer = {"model_type": "gemma3", "text_config": text}
    found = read(tmp_path, outer).metadata
    assert found["gemma3.attention.key_length"] == 256
    assert found["gemma3.vocab_size"] == 262208
    assert found["gemma3.block_count"] == 34


def test_key_value_heads_default_to_heads_for_llama_only(tmp_path: Path) -> None:
    config = tiny_config("llama")
    config["num_key_value_heads"] = None
    assert read(tmp_path, config).metadata["llama.attention.head_count_kv"] == 4
    config = tiny_config("qwen2")
    del config["num_key_value_heads"]
    assert "does not say num_key_value_heads" in refusal(tmp_path, config)[0]


def test_scaled_rope_reaches_the_family_contract(tmp_path: Path) -> None:
    for scaling in ({"type": "linear", "factor": 2.0}, {"rope_type": "yarn", "factor": 4}):
        config = tiny_config("llama")
        rope(config, rope_theta=10000, rope_scaling=scaling)
        found = read(tmp_path, config).metadata
        assert found["llama.rope.scaling.type"] == scaling.get("type", "yarn")


def test_a_window_in_use_reaches_the_family_contract(tmp_path: Path) -> None:
    config = tiny_config("qwen2") | {"use_sliding_window": True, "sliding_window": 32}
    assert read(tmp_path, config).metadata["qwen2.attention.sliding_window"] == 32


@pytest.mark.parametrize(
    ("family", "change", "words", "at"),
    [
        ("llama", set_("model_type", "lama"), "unknown model_type 'lama'", '"model_type"'),
        ("llama", lambda c: c.pop("model_type"), "unknown model_type None", "{"),
        ("llama", set_("hidden_size", "24"), "hidden_size = '24' is not a number", '"hidden_size"'),
        ("llama", set_("hidden_size", True), "hidden_size = True is not a number", '"hidden_size"'),
        ("llama", set_("hidden_size", 24.5), "is not a whole number", '"hidden_size"'),
        ("llama", set_("hidden_size", 0), "is not a number between", '"hidden_size"'),
        ("llama", set_("hidden_size", 2**31), "is not a number between", '"hidden_size"'),
        ("llama", set_("rms_norm_eps", -1e-5), "is not a number between", '"rms_norm_eps"'),
        ("llama", lambda c: c.pop("hidden_size"), "does not say hidden_size", "{"),
        ("llama", set_("hidden_act", "gelu"), "needs it to be 'silu'", '"hidden_act"'),
        ("llama", set_("attention_bias", True), "needs it to be False", '"attention_bias"'),
        ("llama", set_("mlp_bias", 0), "needs it to be False", '"mlp_bias"'),
        ("llama", set_("quantization_config", {}), "are quantised", '"quantization_config"'),
        ("llama", set_("auto_map", {"AutoModel": "x.Y"}), "never run", '"auto_map"'),
        (
            "llama",
            set_("architectures", ["LlamaForSequenceClassification"]),
            "'architectures' must be LlamaForCausalLM",
            '"architectures"',
        ),
        ("llama", set_("rope_theta", 10000), "rope_theta = 10000.0 contradicts", '"rope_theta"'),
        (
            "llama",
            set_("rope_parameters.factor", 4.0),
            "rope_parameters.factor is not understood",
            '"factor"',
        ),
        (
            "llama",
            set_("rope_scaling", {"factor": 4.0}),
            "rope_scaling.factor is not understood",
            '"factor"',
        ),
        ("llama", set_("rope_scaling", "linear"), "'rope_scaling' is not an object", '"rope_scal'),
        (
            "llama",
            set_("rope_scaling", {"type": 3}),
            "rope_scaling.type = 3 is not a text",
            '"type"',
        ),
        (
            "llama",
            set_("rope_scaling", {"type": "linear", "rope_type": "yarn"}),
            "contradicts",
            '"rope_type": "yarn"',
        ),
        ("llama", set_("partial_rotary_factor", 0.5), "needs it to be 1.0", '"partial_rotary'),
        ("llama", set_("dtype", "int8"), "dtype 'int8' is none of", '"dtype"'),
        ("llama", set_("tie_word_embeddings", "no"), "neither true nor false", '"tie_word'),
        ("qwen2", set_("use_sliding_window", 1), "neither true nor false", '"use_sliding_window"'),
        (
            "qwen2",
            set_("layer_types", ["full_attention", "sliding_attention"]),
            "layer 1 is 'sliding_attention', not 'full_attention'",
            '"layer_types"',
        ),
        ("qwen2", set_("layer_types", ["full_attention"]), "not a list of 2", '"layer_types"'),
        ("gemma3", set_("query_pre_attn_scalar", 168), "needs it to be 8", '"query_pre'),
        ("gemma3", set_("final_logit_softcapping", 30.0), "needs it to be absent", '"final_logit'),
        ("gemma3", set_("use_bidirectional_attention", True), "needs it to be False", '"use_bidi'),
        ("gemma3", set_("sliding_window_pattern", 2), "needs it to be 6", '"sliding_window_p'),
        (
            "gemma3",
            set_("rope_parameters.sliding_attention.rope_type", "linear"),
            "needs it to be 'default'",
            '"rope_type": "linear"',
        ),
        (
            "gemma3",
            set_("rope_parameters", {"rope_type": "default", "rope_theta": 1e6}),
            "rope_parameters.rope_type is not understood",
            '"rope_type"',
        ),
        (
            "gemma3",
            lambda c: c["layer_types"].reverse(),
            "layer 0 is 'full_attention', not 'sliding_attention'",
            '"layer_types"',
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, family: str, change: Change, words: str, at: str) -> None:
    config = tiny_config(family)
    change(config)
    message, line = refusal(tmp_path, config)
    assert words in message
    assert line.startswith(at)


@pytest.mark.parametrize(
    ("text", "words", "line", "col"),
    [
        (b"", "an object must be here", 1, 1),
        (b"[]", "an object must be here", 1, 1),
        (b'{"a": 1,\n "a": 2}', "the key 'a' occurs twice", 2, 2),
        (b'{"a": Infinity}', "b'Infinity' is no JSON value", 1, 7),
        (b'{"a": 1} {}', "there is more after the end", 1, 10),
        (b'{"\xc3\xa9": ?}', "a value is missing here", 1, 7),
        (b'{"a": ' + b"[" * 5000, "nested more than 32 deep", 1, 38),
        (b'{"a": [' + b"0," * 80_000 + b"0]}", "too many values", 1, 160_004),
    ],
)
def test_wrong_json(tmp_path: Path, text: bytes, words: str, line: int, col: int) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(text)
    with pytest.raises(DiagnosticError) as caught:
        read_config(path, config_maps())
    (only,) = caught.value.diagnostics
    assert words in only.message
    assert only.place == Place(str(path), line, col)


def test_a_file_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"{" + b" " * (4 << 20))
    with pytest.raises(DiagnosticError, match="has 4,194,305 bytes, allowed are 4,194,304"):
        read_config(path, config_maps())


def test_a_wrong_contract_names_itself() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_config_map({"id": "config_map/x", "kind": "config_map"}, "x/contract.yaml")
    (only,) = caught.value.diagnostics
    assert only.message == "x/contract.yaml: not a valid config_map contract"
    assert "model_type: Field required" in [note.message for note in only.notes]
