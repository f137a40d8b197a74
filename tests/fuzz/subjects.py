"""Model files to damage, and independent readers that say what a file really holds."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import gguf
import numpy as np

from metainfer.models.checkpoint import Checkpoint
from metainfer.models.tensors import Tensor
from tests.support.hf_folder import tiny_config, tiny_tensors, write_folder
from tests.support.tiny_llama import TinyLlama

Check = Callable[[Checkpoint, Path], str | None]
"""What is wrong with a checkpoint that was read from the file, or None."""


@dataclass(frozen=True)
class Subject:
    """A model at `model`, the file of it to damage, how long its header is, and its check."""

    model: Path
    file: Path
    kind: str
    header: int
    check: Check


def subjects(folder: Path) -> list[Subject]:
    """Models of each kind, written into `folder`."""
    made: list[Subject] = []
    for path in (_byte_bpe(folder), _spm(folder)):
        made.append(Subject(path, path, "gguf", _gguf_header(path), check_gguf))
    for family in ("llama", "qwen2", "gemma3"):
        config = tiny_config(family)
        model = write_folder(folder / family, config, tiny_tensors(config))
        file = model / "model.safetensors"
        (length,) = struct.unpack_from("<Q", file.read_bytes())
        made.append(Subject(model, file, "safetensors", 8 + length, check_folder))
        settings = model / "config.json"
        made.append(Subject(model, settings, "json", settings.stat().st_size, check_folder))
    config = tiny_config("qwen2")
    model = write_folder(folder / "shards", config, tiny_tensors(config), shards=2)
    index = model / "model.safetensors.index.json"
    made.append(Subject(model, index, "json", index.stat().st_size, check_folder))
    return made


def _byte_bpe(folder: Path) -> Path:
    return TinyLlama(hidden=32, ffn=64, q_heads=2, layers=1).write(folder / "bpe.gguf")


def _spm(folder: Path) -> Path:
    """A file with a SentencePiece vocabulary and one tensor of each kind."""
    path = folder / "spm.gguf"
    writer = gguf.GGUFWriter(path, "gemma3")
    writer.add_block_count(6)
    writer.add_float32("gemma3.rope.freq_base", 1e6)
    pieces = ["\u2581", "a", "b", "ab", "\u2581a"]
    tokens = ["<unk>", "<bos>", "<eos>", "  ", *(f"<0x{b:02X}>" for b in range(256)), *pieces]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 260 + [-float(i) for i in range(len(pieces))])
    writer.add_token_types([2, 3, 3, 4, *[6] * 256, *[1] * len(pieces)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    draw = np.random.default_rng(0)
    writer.add_tensor("token_embd.weight", draw.standard_normal((265, 32), np.float32))
    writer.add_tensor("output_norm.weight", draw.standard_normal(32, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _gguf_header(path: Path) -> int:
    return min(int(tensor.data_offset) for tensor in gguf.GGUFReader(path).tensors)


def check_gguf(found: Checkpoint, path: Path) -> str | None:
    """Compare with the `gguf` package, which reads everything in another way."""
    try:
        other = gguf.GGUFReader(path)
    except (ValueError, KeyError, OverflowError, UnicodeDecodeError) as problem:
        return f"the gguf package refuses it: {type(problem).__name__}: {problem}"
    theirs = {n: f.contents() for n, f in other.fields.items() if not n.startswith("GGUF.")}
    if repr(theirs) != repr(dict(found.metadata)):
        different = [n for n in theirs if repr(theirs[n]) != repr(found.metadata.get(n))]
        return f"metadata differ: {different[:3]}"
    if [tensor.name for tensor in other.tensors] != list(found.tensors):
        return "the names of tensors differ"
    for tensor in other.tensors:
        ours = found.tensors[tensor.name]
        if tuple(int(n) for n in reversed(tensor.shape)) != ours.shape:
            return f"shape of {tensor.name} differs"
        if (int(tensor.data_offset), int(tensor.n_bytes)) != (ours.offset, ours.nbytes):
            return f"place of {tensor.name} differs"
    return None


_COPIED = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "context_length": "max_position_embeddings",
    "vocab_size": "vocab_size",
}


def check_folder(found: Checkpoint, model: Path) -> str | None:
    """Compare numbers and sizes with what Python's own parser finds in the files."""
    config = json.loads((model / "config.json").read_bytes())
    arch = found.metadata["general.architecture"]
    for key, name in _COPIED.items():
        if name in config and found.metadata[f"{arch}.{key}"] != config[name]:
            return f"{key} differs from {name}"
    stored = sorted(_stored_sizes(model))
    ours = sorted(_elements(tensor) for tensor in found.tensors.values())
    tied = len(stored) - len(ours)
    if tied not in (0, 1) or not set(ours) <= set(stored):
        return "the sizes of tensors differ"
    return None


def _elements(tensor: Tensor) -> int:
    return int(np.prod(tensor.shape))


def _stored_sizes(model: Path) -> Iterator[int]:
    """Elements of every tensor, from the span of its bytes."""
    width = {"F32": 4, "F16": 2, "BF16": 2}
    index = model / "model.safetensors.index.json"
    names = ["model.safetensors"]
    if index.exists():
        names = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    for name in names:
        raw = (model / name).read_bytes()
        (length,) = struct.unpack_from("<Q", raw)
        for key, entry in json.loads(raw[8 : 8 + length]).items():
            if key != "__metadata__" and not key.endswith("inv_freq"):
                begin, end = entry["data_offsets"]
                yield (end - begin) // width[entry["dtype"]]


def bombs() -> Iterator[tuple[str, bytes]]:
    """Files of some megabytes that would take many times their size in memory, by kind."""
    key = b"\x01\x00\x00\x00\x00\x00\x00\x00k"

    def array(kind: int, count: int, items: bytes) -> bytes:
        head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
        return head + key + struct.pack("<IIQ", 9, kind, count) + items

    yield "gguf", array(0, 12 << 20, b"\xff" * (12 << 20))
    yield "gguf", array(7, 12 << 20, b"\x01" * (12 << 20))
    yield "gguf", array(6, 3 << 20, b"\x01\x02\x03\x04" * (3 << 20))
    yield "gguf", array(8, 1 << 20, (struct.pack("<Q", 2) + b"ab") * (1 << 20))
    yield "gguf", array(8, 1 << 20, struct.pack("<Q", 0) * (1 << 20))
    text = b"a" * (12 << 20) + "\U0001f600".encode()
    yield "gguf", array(8, 1, struct.pack("<Q", len(text)) + text)
    tensors = b"".join(
        struct.pack("<Q6sIQIQ", 6, b"%06d" % n, 1, 1, 0, 32 * n) for n in range(200_000)
    )
    head = b"GGUF" + struct.pack("<IQQ", 3, 200_000, 0)
    yield "gguf", head + tensors + bytes(32 * 200_001)
    yield "safetensors", _many_tensors(200_000)
    for text in (b'{"a":[' + b"[]," * (3 << 20), b'{"a":' * (1 << 20), b'{"' + b"a" * (12 << 20)):
        yield "safetensors", struct.pack("<Q", len(text)) + text
    yield "json", b'{"a":[' + b"[]," * 1_000_000
    yield "json", b'{"a":[' + b'{"a":1},' * 400_000
    yield "json", b'{"a":"' + b"a" * (3 << 20) + '\U0001f600"}'.encode()
    yield "json", b"{" + b",".join(b'"%d":1' % n for n in range(300_000)) + b"}"


def _many_tensors(count: int) -> bytes:
    entries = (
        b'"%d":{"dtype":"F32","shape":[1],"data_offsets":[%d,%d]}' % (n, 4 * n, 4 * n + 4)
        for n in range(count)
    )
    text = b"{" + b",".join(entries) + b"}"
    return struct.pack("<Q", len(text)) + text + bytes(4 * count)


def copy_of(subject: Subject, folder: Path) -> Subject:
    """The same model in another folder, where its file is missing, to be written damaged."""
    target = folder / subject.model.name
    if not subject.model.is_dir():
        return replace(subject, model=target, file=target)
    target.mkdir(exist_ok=True)
    for file in subject.model.iterdir():
        (target / file.name).unlink(missing_ok=True)
        os.link(file, target / file.name)
    damaged = target / subject.file.name
    damaged.unlink()
    return replace(subject, model=target, file=damaged)


def describe(subject: Subject) -> str:
    """A name for reports."""
    return f"{subject.kind} {subject.file.parent.name}/{subject.file.name}"
