"""What mutants of passes and contracts are run on: `python tests/support/pass_mutants.py FOLDER`.

Three are the tiny models of `tiny_hf.py` with what transformers says about them. The fourth has a
weight in every format; its recording is R0 of the same numbers in float32, decoded by the `gguf`
package.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
from tiny_families import recording, write_tiny_spec
from tiny_hf import MODELS, QWEN2
from tiny_llama import TinyLlama, spec_text

from metainfer.driver.reference import reference_of
from metainfer.driver.session import reading_context
from metainfer.interp.r0 import teacher_forced
from metainfer.interp.run import Interpreter

Floats = npt.NDArray[np.float32]
Type = gguf.GGMLQuantizationType
FORMATS = {
    "token_embd": Type.Q6_K,
    "output": Type.Q8_0,
    "attn_q": Type.Q4_K,
    "attn_k": Type.Q5_K,
    "attn_v": Type.Q4_0,
    "attn_output": Type.Q5_0,
    "ffn_gate": Type.Q5_1,
    "ffn_up": Type.BF16,
    "ffn_down": Type.Q4_1,
    "attn_q.1": Type.F16,
}
"""A format of each matrix; the second layer's queries have another, so it is of another kind."""
SCALES = {Type.Q4_K: (0, 1), Type.Q5_K: (0, 1), Type.Q6_K: (104,)}
"""Where the half floats of a block stand, in pairs of bytes, which random bits may not fill."""
TOKENS = 12
FORMATS_MODEL = replace(
    QWEN2, hidden=256, ffn=512, q_heads=4, kv_heads=2, head_dim=48, layers=2, tied=False
)
"""Rows of whole blocks, and heads that are wider than the 16 columns which kernels share."""
Stored = tuple[npt.NDArray[np.generic], Type]


def write_subjects(folder: Path) -> Path:
    """Write all of them into `folder`."""
    for family in MODELS:
        write_family(folder, family)
    _write_formats(folder / "formats")
    return folder


def write_family(folder: Path, family: str) -> None:
    """Write the model of a family, and what transformers says about it."""
    (folder / family).mkdir(parents=True)
    write_tiny_spec(folder / family, MODELS[family], context=1024)
    recorded = recording(family)
    np.savez(folder / family / "recording.npz", ids=recorded.ids, logits=recorded.logits)


def _write_formats(folder: Path) -> None:
    values = FORMATS_MODEL.converted()
    stored = {name: _stored(name, one) for name, one in values.items()}
    folder.mkdir()
    _write(folder, stored)
    plain = folder / "plain"
    plain.mkdir()
    _write(plain, {n: (gguf.quants.dequantize(*one), Type.F32) for n, one in stored.items()})
    ids = FORMATS_MODEL.ids(TOKENS)
    reference = reference_of(plain / "tiny.mispec", reading_context())
    interpreter = Interpreter(reference.module, reference.weights)
    logits = np.concatenate(list(teacher_forced(interpreter, ids, len(ids))))
    np.savez(folder / "recording.npz", ids=ids, logits=logits)
    shutil.rmtree(plain)


def _write(folder: Path, tensors: Mapping[str, Stored]) -> None:
    writer = gguf.GGUFWriter(folder / "tiny.gguf", FORMATS_MODEL.family)
    FORMATS_MODEL._numbers(writer)
    TinyLlama(vocab=FORMATS_MODEL.vocab).add_tokenizer(writer)
    for name, (raw, kind) in tensors.items():
        writer.add_tensor(name, raw, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    spec = spec_text("tiny.gguf", context=64).replace("kv f32", "kv f16")
    (folder / "tiny.mispec").write_text(spec, encoding="utf-8")


def _stored(name: str, values: Floats) -> Stored:
    """A tensor as its format stores it; K-quants, which `gguf` only decodes, hold random codes."""
    parts = name.removesuffix(".weight").split(".")
    layered = f"{parts[-1]}.{parts[1]}" if parts[0] == "blk" else parts[-1]
    kind = FORMATS.get(layered, FORMATS.get(parts[-1], Type.F32))
    if values.ndim == 1:
        kind = Type.F32  # norms and biases are stored as they are
    if kind not in SCALES:
        return gguf.quants.quantize(values, kind), kind
    block, size = gguf.GGML_QUANT_SIZES[kind]
    rng = np.random.Generator(np.random.PCG64(len(name)))
    raw = rng.integers(0, 256, (values.shape[0], values.shape[1] // block, size), np.uint8)
    halves = raw.view(np.float16)
    for at in SCALES[kind]:
        halves[..., at] = rng.uniform(5e-5, 1.5e-4, raw.shape[:2]).astype(np.float16)
    return raw.reshape(values.shape[0], -1), kind


if __name__ == "__main__":
    write_subjects(Path(sys.argv[1]))
