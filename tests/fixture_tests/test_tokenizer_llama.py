"""Our tokenizer against llama.cpp's recorded tokens (see tests/oracle/README.md)."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tokenizers import Tokenizer

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models.gguf import TensorFormat, read_gguf
from metainfer.models.source import resolve_source
from metainfer.models.tokenizer import build_tokenizer

TESTS = Path(__file__).parents[1]
FETCHED = ("smollm2",)
"""Models small enough to fetch for a test; the others are used where someone has pulled them."""
FORMATS = {
    form.type_id: form
    for form in (
        TensorFormat("f32", 0, 1, 4),
        TensorFormat("q4_1", 3, 32, 20),
        TensorFormat("q5_0", 6, 32, 22),
        TensorFormat("q8_0", 8, 32, 34),
        TensorFormat("q4_k", 12, 256, 144),
        TensorFormat("q6_k", 14, 256, 210),
    )
}


def oracle_module(name: str) -> ModuleType:
    """A module of tests/oracle, by its file: `tests` is no package in a test run."""
    spec = importlib.util.spec_from_file_location(f"oracle_{name}", TESTS / "oracle" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=["smollm2", "qwen2", "gemma3"])
def model(request: pytest.FixtureRequest) -> str:
    """The name of a recording."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def recorded(model: str) -> dict[str, Any]:
    """What llama.cpp said."""
    data: dict[str, Any] = json.loads((TESTS / "fixtures" / f"tokenizer_{model}.json").read_text())
    return data


@pytest.fixture(scope="module")
def texts(recorded: dict[str, Any]) -> list[str]:
    """The strings that llama.cpp was given."""
    made: list[str] = oracle_module("strings").random_strings(recorded["count"], recorded["seed"])
    return made


@pytest.fixture(scope="module")
def metadata(model: str, recorded: dict[str, Any]) -> dict[str, Any]:
    """Metadata of the recorded model file; skips where a large one has not been pulled."""
    source, digest = recorded["model"]["source"], recorded["model"]["sha256"]
    try:
        path = resolve_source(source, digest, download=model in FETCHED)
    except DiagnosticError as problem:
        (why,) = problem.diagnostics
        if not why.message.endswith("is not in the model cache"):
            raise
        pytest.skip(f"{why.message}; {why.help}")
    return dict(read_gguf(path, FORMATS).metadata)


@pytest.fixture(scope="module")
def tokenizer(metadata: dict[str, Any]) -> Tokenizer:
    """Our tokenizer, told to read markers such as `<|im_start|>` as text, like the recording."""
    built = build_tokenizer(metadata)
    built.encode_special_tokens = True
    return built


@pytest.fixture(scope="module")
def encoded(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    """Our ids of every string."""
    return [found.ids for found in tokenizer.encode_batch(texts, add_special_tokens=False)]


def unwritable_bytes(tokens: Sequence[str]) -> frozenset[int]:
    """Bytes that no token of a byte-level vocabulary spells.

    GPT-2's alphabet: printable Latin-1 bytes stand for themselves, the others are U+0100 upwards.
    """
    plain = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    shifted = (byte for byte in range(256) if byte not in plain)
    letters = {byte: chr(byte) for byte in plain}
    letters |= {byte: chr(0x100 + place) for place, byte in enumerate(shifted)}
    known = frozenset(tokens)
    return frozenset(byte for byte, letter in letters.items() if letter not in known)


def test_the_generator_makes_the_recorded_strings(
    recorded: dict[str, Any], texts: list[str]
) -> None:
    digest, block = oracle_module("digests").strings_digest, recorded["block"]
    said = [row["strings"] for row in recorded["blocks"]]
    assert [digest(texts[i : i + block]) for i in range(0, len(texts), block)] == said
    assert len(set(texts)) > 8_000


def test_sampled_strings_have_llama_cpp_s_ids(
    recorded: dict[str, Any], texts: list[str], encoded: list[list[int]]
) -> None:
    assert len(recorded["sample"]) == 200
    for row in recorded["sample"]:
        assert texts[row["index"]] == row["text"]
        assert encoded[row["index"]] == row["ids"], repr(row["text"])


def test_every_string_has_llama_cpp_s_ids(
    recorded: dict[str, Any], texts: list[str], encoded: list[list[int]]
) -> None:
    digest = oracle_module("digests").ids_digest
    said = [one for row in recorded["blocks"] for one in row["ids"].split()]
    assert len(said) == len(texts) == 10_000
    differ = [i for i, ids in enumerate(encoded) if digest(ids) != said[i]]
    shown = [(i, texts[i], encoded[i]) for i in differ[:5]]
    assert not differ, f"{len(differ)} strings differ from llama.cpp, first: {shown!r}"


def test_decoding_gives_the_string_back(
    model: str,
    metadata: dict[str, Any],
    tokenizer: Tokenizer,
    texts: list[str],
    encoded: list[list[int]],
) -> None:
    """Exact wherever the vocabulary can spell the string.

    SmolLM2's vocabulary has no token for 21 bytes (six control characters, and bytes that occur
    only in unassigned planes or never in UTF-8), Qwen2's for none of those that UTF-8 uses.
    llama.cpp drops these bytes; so must we, and nothing else. SentencePiece writes a space as the
    character U+2581 and cannot tell it from a written U+2581.
    """
    decoded = tokenizer.decode_batch(encoded, skip_special_tokens=False)
    if metadata["tokenizer.ggml.model"] == "llama":
        assert decoded == [text.replace("\u2581", " ") for text in texts]
        return
    unwritable = unwritable_bytes(metadata["tokenizer.ggml.tokens"])
    assert len(unwritable) == {"smollm2": 21, "qwen2": 0}[model]
    exact = 0
    for text, back in zip(texts, decoded, strict=True):
        kept = bytes(byte for byte in text.encode() if byte not in unwritable)
        assert back == kept.decode(errors="replace")
        exact += back == text
    assert exact > 9_000
