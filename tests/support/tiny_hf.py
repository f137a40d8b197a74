"""Tiny random models as transformers has them, and as the converter writes them to GGUF.

`TinyHf.weights` are tensors under transformers' names, `TinyHf.config` are the arguments of its
configuration class; `write_gguf` applies the converter's conventions to the same numbers. So what
transformers says about a model (`tests/fixtures/tiny_*.npz`) can be held against what we say,
without torch. The same arguments give the same numbers with any numpy: only the raw bits of a bit
generator are used, whose stream is promised.

Nothing is left at a value that hides a mistake: norms are not 1, biases not 0, epsilon is large,
heads are not hidden / head_dim wide, and no two sizes of a model are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from tiny_llama import TinyLlama

Floats = npt.NDArray[np.float32]
Shape = tuple[int, ...]

NORM_NAMES = {
    "llama": {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"},
    "gemma3": {
        "input_layernorm": "attn_norm",
        "self_attn.q_norm": "attn_q_norm",
        "self_attn.k_norm": "attn_k_norm",
        "post_attention_layernorm": "post_attention_norm",
        "pre_feedforward_layernorm": "ffn_norm",
        "post_feedforward_layernorm": "post_ffw_norm",
    },
}
NORM_NAMES["qwen2"] = NORM_NAMES["llama"]
MATRIX_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
BIASED = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
Q4_1 = gguf.GGMLQuantizationType.Q4_1
F32 = gguf.GGMLQuantizationType.F32


@dataclass(frozen=True)
class TinyHf:
    """Sizes and numbers of a model of one family; see `LLAMA`, `QWEN2` and `GEMMA3`.

    `local_theta`, `window` and `pattern` are Gemma's: every `pattern`-th layer is global.
    """

    family: str
    layers: int
    hidden: int
    ffn: int
    q_heads: int
    kv_heads: int
    head_dim: int
    theta: float
    tied: bool
    vocab: int = 283
    eps: float = 1e-3
    context: int = 2048
    local_theta: float = 10000.0
    window: int = 0
    pattern: int = 6
    seed: int = 0

    def is_global(self, layer: int) -> bool:
        """Whether a layer sees all tokens before it."""
        return self.window == 0 or (layer + 1) % self.pattern == 0

    def config(self) -> dict[str, Any]:
        """Arguments of transformers' configuration class of this family."""
        rope: dict[str, Any] = {"rope_type": "default", "rope_theta": self.theta}
        common = {
            "vocab_size": self.vocab,
            "hidden_size": self.hidden,
            "intermediate_size": self.ffn,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.q_heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "max_position_embeddings": self.context,
            "rms_norm_eps": self.eps,
            "tie_word_embeddings": self.tied,
            "rope_parameters": rope,
        }
        if self.family != "gemma3":
            return common
        local = {"rope_type": "default", "rope_theta": self.local_theta}
        kinds = [
            "full_attention" if self.is_global(n) else "sliding_attention"
            for n in range(self.layers)
        ]
        return common | {
            "rope_parameters": {"full_attention": rope, "sliding_attention": local},
            "layer_types": kinds,
            "sliding_window": self.window,
            "query_pre_attn_scalar": self.head_dim,
        }

    def weights(self) -> dict[str, Floats]:
        """Every tensor under transformers' name, drawn in this order."""
        bits = np.random.PCG64(self.seed)
        return {
            name: _drawn(bits, shape, *self._middle_and_scale(name, shape))
            for name, shape in self.shapes()
        }

    def _middle_and_scale(self, name: str, shape: Shape) -> tuple[float, float]:
        """Matrices keep the size of what they meet; queries are longer, so that heads choose."""
        if len(shape) == 2:
            return 0.0, shape[1] ** -0.5 * (3.0 if "q_proj" in name else 1.0)
        return (1.0 if "norm" in name and self.family != "gemma3" else 0.0), 0.3

    def shapes(self) -> Iterator[tuple[str, Shape]]:
        """`(name, shape)` of every tensor."""
        yield "model.embed_tokens.weight", (self.vocab, self.hidden)
        for layer in range(self.layers):
            for name, shape in self._layer_shapes():
                yield f"model.layers.{layer}.{name}", shape
        yield "model.norm.weight", (self.hidden,)
        if not self.tied:
            yield "lm_head.weight", (self.vocab, self.hidden)

    def _layer_shapes(self) -> Iterator[tuple[str, Shape]]:
        q, kv = self.q_heads * self.head_dim, self.kv_heads * self.head_dim
        rows = (q, kv, kv, self.hidden, self.ffn, self.ffn, self.hidden)
        cols = (*[self.hidden] * 3, q, self.hidden, self.hidden, self.ffn)
        for name, n, k in zip(MATRIX_NAMES, rows, cols, strict=True):
            yield f"{name}.weight", (n, k)
            if self.family == "qwen2" and name in BIASED:
                yield f"{name}.bias", (n,)
        for name in NORM_NAMES[self.family]:
            per_head = name.endswith(("q_norm", "k_norm"))
            yield f"{name}.weight", (self.head_dim if per_head else self.hidden,)

    def digest(self) -> str:
        """SHA-256 over the weights: which model a recording is of."""
        seen = hashlib.sha256(repr(self).encode())
        for name, values in self.weights().items():
            seen.update(name.encode() + values.tobytes())
        return seen.hexdigest()

    def ids(self, count: int) -> list[int]:
        """Token ids of a prompt, the same on every machine."""
        raw = np.random.PCG64(self.seed + 1).random_raw(count)
        return [int(n) for n in raw % np.uint64(self.vocab)]

    def write_gguf(
        self, path: Path, *, quantised: bool = False, edit: Mapping[str, Floats] | None = None
    ) -> Path:
        """Write the model as the converter does; `edit` replaces tensors by their GGUF names."""
        writer = gguf.GGUFWriter(path, self.family)
        self._numbers(writer)
        TinyLlama(vocab=self.vocab).add_tokenizer(writer)
        for name, values in ({**self.converted(), **(edit or {})}).items():
            kind = Q4_1 if quantised and values.ndim == 2 else F32
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def converted(self) -> dict[str, Floats]:
        """The tensors under their GGUF names, changed as the converter changes them."""
        return dict(self._converted(name, values) for name, values in self.weights().items())

    def _converted(self, name: str, values: Floats) -> tuple[str, Floats]:
        top = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
        parts = name.removeprefix("model.").split(".")
        if parts[0] != "layers":
            plus = 1.0 if self.family == "gemma3" and parts[0] == "norm" else 0.0
            return f"{top[parts[0]]}.weight", values + np.float32(plus)
        slot, kind = ".".join(parts[2:-1]), parts[-1]
        norms = NORM_NAMES[self.family]
        if slot in norms:
            plus = 1.0 if self.family == "gemma3" else 0.0
            return f"blk.{parts[1]}.{norms[slot]}.weight", values + np.float32(plus)
        if self.family == "llama" and slot in BIASED[:2]:
            values = adjacent_pairs(values, self.head_dim)
        return f"blk.{parts[1]}.{MATRIX_NAMES[slot]}.{kind}", values

    def _numbers(self, writer: gguf.GGUFWriter) -> None:
        writer.add_block_count(self.layers)
        writer.add_context_length(self.context)
        writer.add_embedding_length(self.hidden)
        writer.add_feed_forward_length(self.ffn)
        writer.add_head_count(self.q_heads)
        writer.add_head_count_kv(self.kv_heads)
        writer.add_key_length(self.head_dim)
        writer.add_value_length(self.head_dim)
        writer.add_layer_norm_rms_eps(self.eps)
        writer.add_rope_freq_base(self.theta)
        if self.window:
            writer.add_sliding_window(self.window)


def adjacent_pairs(values: Floats, head_dim: int) -> Floats:
    """Rows of q or k in the order in which the two elements of a rotated pair are adjacent.

    (rows, cols) with rows = heads * head_dim; `convert_hf_to_gguf.py`, `LlamaModel.permute`.
    """
    halves = values.reshape(-1, 2, head_dim // 2, values.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(values.shape))


def _drawn(bits: np.random.PCG64, shape: Shape, middle: float, scale: float) -> Floats:
    """Numbers spread evenly around `middle` with the standard deviation `scale`."""
    unit = (bits.random_raw(int(np.prod(shape))) >> np.uint64(40)).astype(np.float64) / 2**24
    spread = (unit * 2 - 1) * np.sqrt(3)
    values: Floats = (middle + scale * spread).astype(np.float32).reshape(shape)
    return values


LLAMA = TinyHf("llama", 3, 42, 72, q_heads=3, kv_heads=1, head_dim=48, theta=5000.0, tied=False)
QWEN2 = TinyHf("qwen2", 3, 80, 88, q_heads=5, kv_heads=1, head_dim=16, theta=20000.0, tied=True)
GEMMA3 = TinyHf(
    "gemma3", 7, 56, 104, q_heads=4, kv_heads=2, head_dim=16, theta=3e5, tied=True, window=24
)
"""Seven layers: five local ones, a global one, and a local one that reads what it wrote."""
MODELS = {model.family: model for model in (LLAMA, QWEN2, GEMMA3)}
POSITIONS = {"llama": 100, "qwen2": 100, "gemma3": 200}
"""Tokens that transformers was asked about: for Gemma3 eight windows."""
