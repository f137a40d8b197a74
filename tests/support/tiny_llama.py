"""A tiny random Llama as a GGUF file, and a spec for it: the whole compiler in seconds.

The same arguments give the same bytes. Sizes are chosen to leave remainders: 301 rows of
vocabulary are no multiple of 16, and 160 columns of `ffn_down` are five blocks of 32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

TYPES = {
    "f32": gguf.GGMLQuantizationType.F32,
    "q4_1": gguf.GGMLQuantizationType.Q4_1,
    "q8_0": gguf.GGMLQuantizationType.Q8_0,
}
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("Ġ t", "h e", "Ġt he", "i n", "Ġ a", "e r", "a n", "o n", "r e", "Ġ c", "1 2", "Ã ©")
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True)
class TinyLlama:
    """Sizes, formats and tokenizer of a model; every field can be set apart.

    `formats` maps a slot (`attn_q`, `token_embd`) or one layer's (`attn_q.1`) to a format; the
    format of all other matrices is `matrices`. A `head` has its own output matrix, else the
    embedding serves (tied).
    """

    layers: int = 2
    hidden: int = 96
    ffn: int = 160
    q_heads: int = 6
    kv_heads: int = 2
    head_dim: int = 16
    vocab: int = 301
    context: int = 64
    matrices: str = "q4_1"
    formats: Mapping[str, str] = field(default_factory=lambda: {"token_embd": "q8_0"})
    head: bool = False
    pre: str = "smollm"
    chat_template: str | None = None
    seed: int = 0

    def format_of(self, slot: str, layer: int | None) -> str:
        """The format of a matrix."""
        return self.formats.get(f"{slot}.{layer}", self.formats.get(slot, self.matrices))

    def write(self, path: Path) -> Path:
        """Write the GGUF file and return its path."""
        writer = gguf.GGUFWriter(path, "llama")
        self._numbers(writer)
        self.add_tokenizer(writer)
        for name, data, kind in self.tensors():
            stored = gguf.quants.quantize(data, TYPES[kind])
            writer.add_tensor(name, stored, raw_dtype=TYPES[kind])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def tensors(self) -> Iterator[tuple[str, Floats, str]]:
        """`(name, values, format)` of every tensor, in file order."""
        random = np.random.Generator(np.random.PCG64(self.seed))
        yield self._matrix(random, "token_embd", None, self.vocab, self.hidden)
        for layer in range(self.layers):
            yield from self._layer(random, layer)
        yield self._vector(random, "output_norm", None)
        if self.head:
            yield self._matrix(random, "output", None, self.vocab, self.hidden)

    def _layer(self, random: np.random.Generator, layer: int) -> Iterator[tuple[str, Floats, str]]:
        q_dim, kv_dim = self.q_heads * self.head_dim, self.kv_heads * self.head_dim
        yield self._vector(random, "attn_norm", layer)
        yield self._matrix(random, "attn_q", layer, q_dim, self.hidden)
        yield self._matrix(random, "attn_k", layer, kv_dim, self.hidden)
        yield self._matrix(random, "attn_v", layer, kv_dim, self.hidden)
        yield self._matrix(random, "attn_output", layer, self.hidden, q_dim)
        yield self._vector(random, "ffn_norm", layer)
        yield self._matrix(random, "ffn_gate", layer, self.ffn, self.hidden)
        yield self._matrix(random, "ffn_up", layer, self.ffn, self.hidden)
        yield self._matrix(random, "ffn_down", layer, self.hidden, self.ffn)

    def _matrix(
        self, random: np.random.Generator, slot: str, layer: int | None, rows: int, cols: int
    ) -> tuple[str, Floats, str]:
        # Variance 1 / cols keeps the running value's size through any number of layers.
        data = random.standard_normal((rows, cols), np.float32) / np.float32(cols) ** 0.5
        return _name(slot, layer), data.astype(np.float32), self.format_of(slot, layer)

    def _vector(
        self, random: np.random.Generator, slot: str, layer: int | None
    ) -> tuple[str, Floats, str]:
        data = 1 + 0.1 * random.standard_normal(self.hidden, np.float32)
        return _name(slot, layer), data.astype(np.float32), "f32"

    def _numbers(self, writer: gguf.GGUFWriter) -> None:
        writer.add_block_count(self.layers)
        writer.add_context_length(self.context)
        writer.add_embedding_length(self.hidden)
        writer.add_feed_forward_length(self.ffn)
        writer.add_head_count(self.q_heads)
        writer.add_head_count_kv(self.kv_heads)
        writer.add_key_length(self.head_dim)
        writer.add_value_length(self.head_dim)
        writer.add_rope_dimension_count(self.head_dim)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_freq_base(10000.0)

    def add_tokenizer(self, writer: gguf.GGUFWriter) -> None:
        """Write a byte-level vocabulary of `vocab` tokens, filled up with unused ones."""
        words = [*_letters(), *(m.replace(" ", "") for m in MERGES)]
        filler = [f"<f{n}>" for n in range(self.vocab - len(SPECIALS) - len(words))]
        tokens = [*SPECIALS, *words, *filler]
        if len(tokens) != self.vocab:
            raise ValueError(f"a vocabulary has at least {len(SPECIALS) + len(words)} tokens")
        kinds = [3] * len(SPECIALS) + [1] * len(words) + [5] * len(filler)
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(self.pre)
        writer.add_token_list(tokens)
        writer.add_token_types(kinds)
        writer.add_token_merges(list(MERGES))
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        if self.chat_template is not None:
            writer.add_chat_template(self.chat_template)


def _name(slot: str, layer: int | None) -> str:
    return f"{slot}.weight" if layer is None else f"blk.{layer}.{slot}.weight"


def _letters() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in plain]
    table = {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}
    return [table[b] for b in range(256)]


def spec_text(model: str, *, name: str = "tiny", context: int = 64, lines: str = "") -> str:
    """A spec for the model file `model` (relative to the spec); `lines` are added to it."""
    return f"""\
engine {name} {{
  model "file:{model}"
  target cpu {{ isa auto; threads 2 }}
  workload {{ context <= {context} tokens; batch <= 1 }}
  quantize {{ weights as_stored; acts f32; kv f32 }}
  sampling {{ greedy; temperature; top_k; top_p; seed }}
{lines}}}
"""


def write_spec(folder: Path, model: TinyLlama, *, lines: str = "") -> Path:
    """Write `tiny.gguf` and `tiny.mispec` into `folder`; returns the spec's path."""
    model.write(folder / "tiny.gguf")
    spec = folder / "tiny.mispec"
    spec.write_text(spec_text("tiny.gguf", context=model.context, lines=lines), encoding="utf-8")
    return spec
