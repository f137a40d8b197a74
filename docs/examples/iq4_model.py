"""Writes `iq4.gguf`: a Llama of one layer, its matrices random blocks of ggml's IQ4_NL."""

from __future__ import annotations

import gguf
import numpy as np

HIDDEN, HEADS, VOCAB = 32, 2, 64
MATRICES = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down".split()


def write_model(path: str) -> None:
    """A file that has what `expand-model` asks for, and no tokenizer."""
    random = np.random.Generator(np.random.PCG64(0))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    _matrix(writer, random, "token_embd", VOCAB)
    for slot in MATRICES:
        _matrix(writer, random, f"blk.0.{slot}", HIDDEN)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(HIDDEN, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _matrix(writer: gguf.GGUFWriter, random: np.random.Generator, name: str, rows: int) -> None:
    """A row is one block: the scale `d`, then 16 bytes of numbers of the code book."""
    blocks = random.integers(0, 256, (rows, 18), np.uint8)
    blocks[:, :2] = np.array([0.002], np.float16).view(np.uint8)
    kind = gguf.GGMLQuantizationType.IQ4_NL
    writer.add_tensor(f"{name}.weight", blocks, raw_dtype=kind)


if __name__ == "__main__":
    write_model("iq4.gguf")
