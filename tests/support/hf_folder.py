"""Tiny Hugging Face folders of every family that has a `config_map` contract.

The same arguments give the same bytes; the tensors are random and have the names and shapes that
transformers gives them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from metainfer.knowledge import strict_yaml
from metainfer.models.config_map import ConfigMap, parse_config_map
from metainfer.models.tensors import TensorFormat
from metainfer.resources import ckb_dir

FORMATS = {
    0: TensorFormat("f32", 0, 1, 4),
    1: TensorFormat("f16", 1, 1, 2),
    3: TensorFormat("q4_1", 3, 32, 20),
    8: TensorFormat("q8_0", 8, 32, 34),
    30: TensorFormat("bf16", 30, 1, 2),
}
FAMILIES = ("llama", "qwen2", "gemma3")
Arrays = dict[str, "np.ndarray[Any, Any]"]
SIZES = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "vocab_size": 270,
    "rms_norm_eps": 1e-5,
}


def config_maps() -> list[ConfigMap]:
    """The maps that ship."""
    paths = sorted((ckb_dir() / "config_map").glob("*/map.yaml"))
    return [parse_config_map(strict_yaml.load(p.read_text(), str(p)), str(p)) for p in paths]


def tiny_config(family: str) -> dict[str, Any]:
    """A `config.json` as transformers 5 writes it."""
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": 50000.0}
    common = {**SIZES, "dtype": "bfloat16", "bos_token_id": 257, "eos_token_id": 258}
    if family == "llama":
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            **common,
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "tie_word_embeddings": False,
            "rope_parameters": rope,
        }
    if family == "qwen2":
        return {
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            **common,
            "hidden_act": "silu",
            "use_sliding_window": False,
            "sliding_window": None,
            "layer_types": ["full_attention"] * 2,
            "tie_word_embeddings": True,
            "rope_parameters": rope,
        }
    layers = ["sliding_attention"] * 5 + ["full_attention"]
    return {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        **common,
        "num_hidden_layers": 6,
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": 8,
        "sliding_window": 16,
        "layer_types": layers,
        "final_logit_softcapping": None,
        "attn_logit_softcapping": None,
        "rope_parameters": {
            "full_attention": rope,
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        },
    }


def tiny_tensors(config: Mapping[str, Any], seed: int = 0) -> Arrays:
    """Random float32 values under transformers' names."""
    draw = np.random.default_rng(seed)
    shapes = dict(_shapes(config))
    return {name: draw.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def _shapes(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    hidden, ffn = config["hidden_size"], config["intermediate_size"]
    q = config["num_attention_heads"] * config["head_dim"]
    kv = config["num_key_value_heads"] * config["head_dim"]
    kind = config["model_type"]
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden)
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for name, rows in (("q", q), ("k", kv), ("v", kv)):
            yield f"{at}self_attn.{name}_proj.weight", (rows, hidden)
            if kind == "qwen2":
                yield f"{at}self_attn.{name}_proj.bias", (rows,)
        yield f"{at}self_attn.o_proj.weight", (hidden, q)
        yield f"{at}mlp.gate_proj.weight", (ffn, hidden)
        yield f"{at}mlp.up_proj.weight", (ffn, hidden)
        yield f"{at}mlp.down_proj.weight", (hidden, ffn)
        yield f"{at}input_layernorm.weight", (hidden,)
        yield f"{at}post_attention_layernorm.weight", (hidden,)
        if kind == "gemma3_text":
            yield f"{at}self_attn.q_norm.weight", (config["head_dim"],)
            yield f"{at}self_attn.k_norm.weight", (config["head_dim"],)
            yield f"{at}pre_feedforward_layernorm.weight", (hidden,)
            yield f"{at}post_feedforward_layernorm.weight", (hidden,)
    yield "model.norm.weight", (hidden,)
    if kind == "llama":
        yield "lm_head.weight", (config["vocab_size"], hidden)


def stored(values: np.ndarray[Any, Any], dtype: str) -> bytes:
    """The bytes of an array as F32, F16 or BF16 (cut off)."""
    if dtype == "BF16":
        return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return values.astype({"F32": "<f4", "F16": "<f2"}[dtype]).tobytes()


def safetensors_bytes(
    tensors: Mapping[str, tuple[str, tuple[int, ...], bytes]],
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """A safetensors file of (dtype, shape, bytes) by name."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    data = b""
    for name, (dtype, shape, raw) in tensors.items():
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": offsets}
        data += raw
    return with_header(json.dumps(header).encode(), data)


def with_header(header: bytes, data: bytes) -> bytes:
    """A safetensors file of a header's text and data."""
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def tiny_tokenizer() -> Tokenizer:
    """Byte-level BPE: 256 bytes, one merge, and three special tokens from 257 on."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {letter: index for index, letter in enumerate([*letters, "ab"])}
    tokenizer = Tokenizer(models.BPE(vocab, [("a", "b")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(
        [AddedToken(text, special=True) for text in ("<s>", "</end>", "<|im_end|>")]
    )
    return tokenizer


def write_folder(
    folder: Path,
    config: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray[Any, Any]],
    *,
    dtype: str = "BF16",
    shards: int = 1,
) -> Path:
    """Write config, tensors (in one file or in shards with an index) and tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    entries = {
        name: (dtype, values.shape, stored(values, dtype)) for name, values in tensors.items()
    }
    if shards == 1:
        (folder / "model.safetensors").write_bytes(safetensors_bytes(entries, {"format": "pt"}))
    else:
        _write_shards(folder, entries, shards)
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": {"content": "<s>"}, "eos_token": "</end>"})
    )
    return folder


def _write_shards(
    folder: Path, entries: Mapping[str, tuple[str, tuple[int, ...], bytes]], shards: int
) -> None:
    names = sorted(entries)
    where: dict[str, str] = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        mine = names[shard::shards]
        (folder / file).write_bytes(safetensors_bytes({name: entries[name] for name in mine}))
        where |= dict.fromkeys(mine, file)
    total = sum(len(raw) for _, _, raw in entries.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
