"""A complete small engine: the emitted host code around a fake model whose outputs are exact."""

from __future__ import annotations

import hashlib
import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from metainfer.codegen.host.emit import HostFacts, emit_host, weights_header

FAKE = Path(__file__).parent / "fake"
WEIGHTS_ID = "00112233445566778899aabbccddeeff" * 2
VOCAB, CONTEXT, CHUNK = 277, 61, 7
SEED_BYTE = 77  # payload byte 1108: where the fake model's hash chain begins
MASK = 2**64 - 1
TEMPLATE = "{% for m in messages %}{{ bos_token }}{{ m.role }}:{{ m.content }}\n{% endfor %}bot:"
STRICT = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-pthread"]


def tokenizer_json() -> str:
    """8 specials, the 256 bytes (byte b has id 8 + b), and merges of `ab`, `é`'s bytes and more."""
    from tokenizers import AddedToken, Tokenizer
    from tokenizers.decoders import ByteLevel as Decoder
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel

    letters = _byte_letters()
    specials = ["<|end|>", "<bos>", "<|eos|>", "<m3>", "<m4>", "<m5>", "<m6>", "<m7>"]
    words = [letters[b] for b in range(256)]
    pairs = [("a", "b"), ("ab", "c"), (letters[0xC3], letters[0xA9]), ("x", "y"), ("1", "2")]
    merged = [left + right for left, right in pairs]
    filler = [f"<f{i}>" for i in range(VOCAB - len(specials) - 256 - len(merged))]
    vocab = {word: i for i, word in enumerate([*specials, *words, *merged, *filler])}
    made = Tokenizer(BPE(vocab, pairs))
    made.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = Decoder()
    made.add_special_tokens([AddedToken(word, special=True) for word in specials])
    return str(made.to_str())


def _byte_letters() -> dict[int, str]:
    """The letter that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}


def byte_ids(data: bytes) -> list[int]:
    return [8 + b for b in data]


def repeat(data: bytes) -> list[int]:
    """A prompt after which the fake model writes `data` again and again."""
    return [3, len(data), *byte_ids(data)]


@dataclass(frozen=True)
class Build:
    """A build folder, and its package imported."""

    root: Path
    package: ModuleType

    def python(self, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            command, cwd=self.root, capture_output=True, text=True, timeout=60, **options
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", self.package.__name__, "run", *arguments)


def write_build(root: Path, name: str, features: Sequence[str], *flags: str) -> Path:
    facts = HostFacts(name, frozenset(features), 1 if "chat" in features else None, TEMPLATE, "<b>")
    for path, text in emit_host(facts).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    for source in ("engine.h", "model.c"):
        (root / name / source).write_bytes((FAKE / source).read_bytes())
    (root / name / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    set_weights(root, np.zeros(VOCAB, np.float32))
    compile_engine(root / name, root / name / "engine.so", "-shared", *flags)
    return root


def compile_engine(package: Path, to: Path, *flags: str) -> None:
    sources = sorted(map(str, package.glob("*.c")))
    command = ["gcc", *STRICT, *flags, *sources, "-o", str(to), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def set_weights(root: Path, logits: np.ndarray) -> None:
    """Weights whose floats are the logits after a prompt that begins with id 5."""
    payload = logits.astype(np.float32).tobytes() + bytes([SEED_BYTE])
    (root / "weights.bin").write_bytes(weights_header(WEIGHTS_ID) + payload.ljust(1200, b"\7"))


def import_build(root: Path, name: str) -> Build:
    sys.path.insert(0, str(root))
    try:
        return Build(root, importlib.import_module(name))
    finally:
        sys.path.remove(str(root))


def mix(x: int) -> int:
    x = ((x ^ (x >> 31)) * 0x9E3779B97F4A7C15) & MASK
    return x ^ (x >> 29)


def expected_logits(ids: Sequence[int]) -> list[float]:
    """The fake model's logits after `ids`, computed here."""
    state = SEED_BYTE
    for pos, i in enumerate(ids):
        state = mix((state + i * 1000003 + pos) & MASK)
    return [(mix((state + v) & MASK) >> 54) / 64 for v in range(VOCAB)]


def expected_greedy(prompt: Sequence[int], n: int) -> list[int]:
    ids = list(prompt)
    for _ in range(n):
        logits = expected_logits(ids)
        ids.append(logits.index(max(logits)))
    return ids[len(prompt) :]


def write_check(root: Path, name: str, cases: list[dict[str, list[int]]]) -> None:
    names = ["weights.bin", f"{name}/engine.so", f"{name}/model.c", f"{name}/binding.py"]
    digests = {n: hashlib.sha256((root / n).read_bytes()).hexdigest() for n in names}
    (root / "manifest.json").write_text(json.dumps({"files": digests}))
    (root / "check.json").write_text(json.dumps({"cases": cases}))
