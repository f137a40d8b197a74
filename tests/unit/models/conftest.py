"""Small inputs for the tests of `metainfer.models`: raw GGUF bytes, wheels, tokenizer metadata."""

from __future__ import annotations

import hashlib
import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from metainfer.models.gguf import TensorFormat, Value
from metainfer.models.tokenizer_tables import BYTE_LETTERS

FORMATS = {
    0: TensorFormat("f32", 0, 1, 4),
    3: TensorFormat("q4_1", 3, 32, 20),
    8: TensorFormat("q8_0", 8, 32, 34),
}


@dataclass
class RawGguf:
    """GGUF bytes written by hand, so that each field can be wrong on its own."""

    magic: bytes = b"GGUF"
    version: int = 3
    pairs: list[bytes] = field(default_factory=list)
    tensors: list[bytes] = field(default_factory=list)
    data: bytes = b""
    alignment: int = 32
    pair_count: int | None = None
    tensor_count: int | None = None

    @staticmethod
    def string(text: bytes, length: int | None = None) -> bytes:
        return struct.pack("<Q", len(text) if length is None else length) + text

    def pair(self, key: bytes, kind: int, value: bytes) -> RawGguf:
        self.pairs.append(self.string(key) + struct.pack("<I", kind) + value)
        return self

    def array(self, key: bytes, kind: int, count: int, items: bytes) -> RawGguf:
        return self.pair(key, 9, struct.pack("<IQ", kind, count) + items)

    def tensor(self, name: bytes, dims: Sequence[int], kind: int = 0, offset: int = 0) -> RawGguf:
        sizes = struct.pack(f"<I{len(dims)}Q", len(dims), *dims)
        self.tensors.append(self.string(name) + sizes + struct.pack("<IQ", kind, offset))
        return self

    def __bytes__(self) -> bytes:
        tensors = len(self.tensors) if self.tensor_count is None else self.tensor_count
        pairs = len(self.pairs) if self.pair_count is None else self.pair_count
        head = self.magic + struct.pack("<IQQ", self.version, tensors, pairs)
        head += b"".join(self.pairs) + b"".join(self.tensors)
        return head + bytes(-len(head) % self.alignment) + self.data


@pytest.fixture
def formats() -> dict[int, TensorFormat]:
    return FORMATS


@pytest.fixture
def raw() -> RawGguf:
    return RawGguf()


@pytest.fixture
def bpe_metadata() -> Callable[..., dict[str, Value]]:
    """Metadata of a byte-BPE vocabulary: the 256 bytes, then merged words, then special tokens."""

    def make(
        pre: str = "smollm",
        merges: Sequence[str] = (),
        special: Sequence[str] = ("<|im_start|>", "<|im_end|>"),
        added: Sequence[str] = (),
        without: str = "",
    ) -> dict[str, Value]:
        letters = [letter for letter in BYTE_LETTERS if letter not in without]
        words = [merge.replace(" ", "") for merge in merges]
        tokens = [*letters, *words, *special, *added]
        types = [1] * (len(letters) + len(words)) + [3] * len(special) + [4] * len(added)
        return {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": pre,
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": types,
            "tokenizer.ggml.merges": list(merges),
            "tokenizer.ggml.bos_token_id": tokens.index(special[0]),
            "tokenizer.ggml.eos_token_id": tokens.index(special[-1]),
        }

    return make


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Puts a wheel into a folder that is pip's only source, and an empty cache beside it."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("METAINFER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))

    def add(
        files: dict[str, bytes] | list[tuple[zipfile.ZipInfo, bytes]],
        name: str = "toy_model",
        version: str = "1.0",
    ) -> Path:
        path = folder / f"{name}-{version}-py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        entries = list(files.items()) if isinstance(files, dict) else files
        with zipfile.ZipFile(path, "w") as wheel:
            for member, content in entries:
                wheel.writestr(member, content)
            wheel.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            )
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
        return path

    return add


@pytest.fixture
def sha256() -> Callable[[bytes], str]:
    return lambda content: hashlib.sha256(content).hexdigest()
