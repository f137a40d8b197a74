"""SentencePiece BPE from GGUF metadata, against the algorithm itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models import tokenizer as tokenizer_module
from metainfer.models.tokenizer import build_tokenizer, encode, tokenizer_facts, tokenizer_json

KEY = "tokenizer.ggml."
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
PIECES = ["▁", *"abcé", "ab", "▁a", "bc", "abc", "▁▁", "aa", "ba", "▁ab", "aaa", "cab", "▁abc"]
SPECIAL = ["<unk>", "<s>", "<end_of_turn>", "</s>"]
ADDED = ["  ", "\n\n", "<b>"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, since derived tokenizers are kept."""
    monkeypatch.setenv("METAINFER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def spm_metadata(prefix: bool = False, pieces: Sequence[str] = PIECES) -> dict[str, Any]:
    """Special tokens, user-defined tokens, bytes, then pieces whose scores fall with the id."""
    tokens = [*SPECIAL, *ADDED, *BYTES, *pieces]
    first = len(tokens) - len(pieces)
    types = [2, *[3] * 2, 4, *[4] * len(ADDED), *[6] * 256, *[1] * len(pieces)]
    return {
        KEY + "model": "llama",
        KEY + "pre": "default",
        KEY + "tokens": tokens,
        KEY + "token_type": types,
        KEY + "scores": [0.0] * first + [-float(i) for i in range(len(pieces))],
        KEY + "bos_token_id": 1,
        KEY + "eos_token_id": 2,
        KEY + "add_space_prefix": prefix,
    }


def sentencepiece(metadata: dict[str, Any], text: str) -> list[str]:
    """The algorithm of `llm_tokenizer_spm` on text without special tokens, as pieces."""
    scores = dict(zip(metadata[KEY + "tokens"], metadata[KEY + "scores"], strict=True))
    pieces = {token: scores[token] for token in PIECES}
    if not text:
        return []
    symbols = list(("▁" if metadata[KEY + "add_space_prefix"] else "") + text.replace(" ", "▁"))
    while True:
        pairs = [left + right for left, right in pairwise(symbols)]
        known = [(-pieces[pair], place) for place, pair in enumerate(pairs) if pair in pieces]
        if not known:
            break
        _, place = min(known)
        symbols[place : place + 2] = [pairs[place]]
    spelt = [[s] if s in pieces else [BYTES[byte] for byte in s.encode()] for s in symbols]
    return [piece for group in spelt for piece in group]


@pytest.mark.parametrize("prefix", [False, True])
def test_it_merges_as_sentencepiece_does(prefix: bool) -> None:
    metadata = spm_metadata(prefix)
    tokenizer = build_tokenizer(metadata)
    tokens = metadata[KEY + "tokens"]
    # Words are joined by one space each: two are a token of their own, matched before this.
    words = st.lists(st.text("abcé☃▁\t", min_size=1)).map(" ".join)

    @given(text=words)
    def same(text: str) -> None:
        ids = encode(tokenizer, text, parse_special=False)
        assert [tokens[i] for i in ids] == sentencepiece(metadata, text)

    same()


@pytest.mark.parametrize("prefix", [False, True])
def test_decoding_gives_the_text_back(prefix: bool) -> None:
    tokenizer = build_tokenizer(spm_metadata(prefix))

    @given(text=st.text(), special=st.booleans())
    def round_trip(text: str, special: bool) -> None:
        if prefix and any(token in text for token in (*ADDED, *SPECIAL)):
            return  # the space after a token that is matched first cannot be told from a typed one
        ids = encode(tokenizer, text, parse_special=special)
        assert tokenizer.decode(ids, skip_special_tokens=False) == text.replace("▁", " ")

    round_trip()


def test_user_defined_tokens_are_matched_first() -> None:
    metadata = spm_metadata()
    tokenizer = build_tokenizer(metadata)
    tokens = metadata[KEY + "tokens"]
    for special in (False, True):
        ids = encode(tokenizer, "a  a\n\n<b>", parse_special=special)
        assert [tokens[i] for i in ids] == ["a", "  ", "a", "\n\n", "<b>"]


def test_special_tokens_only_in_template_text() -> None:
    metadata = spm_metadata()
    tokenizer = build_tokenizer(metadata)
    bos, end, html = (SPECIAL.index(token) for token in ("<s>", "<end_of_turn>", "</s>"))
    text = "<s><end_of_turn></s>"
    assert encode(tokenizer, text, parse_special=True) == [bos, end, html]
    # Also `</s>`, which this file calls user-defined, as Gemma's does.
    plain = encode(tokenizer, text, parse_special=False)
    assert not {bos, end, html} & set(plain)
    assert tokenizer.decode(plain) == text


def test_facts() -> None:
    metadata = spm_metadata()
    facts = tokenizer_facts(metadata)
    assert (facts.bos_id, facts.eos_ids, facts.add_bos, facts.missing_bytes) == (1, (2,), True, b"")
    metadata[KEY + "eos_token_id"] = 1
    metadata[KEY + "add_bos_token"] = False
    facts = tokenizer_facts(metadata)
    assert (facts.eos_ids, facts.add_bos) == ((1, 2), False)


def test_scores_decide_and_then_ids() -> None:
    metadata = spm_metadata(pieces=["a", "b", "c", "ab", "bc"])
    tokens, scores = metadata[KEY + "tokens"], metadata[KEY + "scores"]

    def pieces() -> list[str]:
        ids = encode(build_tokenizer(metadata), "abc", parse_special=False)
        return [tokens[i] for i in ids]

    assert pieces() == ["ab", "c"]
    scores[tokens.index("bc")] = 1.0
    assert pieces() == ["a", "bc"]
    del metadata[KEY + "scores"]
    assert pieces() == ["ab", "c"]


def test_a_derived_tokenizer_is_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tokenizer_json(spm_metadata())
    (entry,) = (cache / "tokenizers").glob("*.json")
    assert entry.read_text() == first
    with monkeypatch.context() as patch:
        patch.setattr(tokenizer_module, "build_spm", lambda _: pytest.fail("derived again"))
        assert tokenizer_json(spm_metadata()) == first
    assert tokenizer_json(spm_metadata(prefix=True)) != first
    assert len(list((cache / "tokenizers").glob("*.json"))) == 2


def test_a_cache_that_cannot_be_written_costs_time_only(cache: Path) -> None:
    cache.write_text("a file where a folder should be")
    assert tokenizer_json(spm_metadata()) == tokenizer_json(spm_metadata())


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("scores", lambda v: v[1:], "is not a list of 279 scores"),
        ("scores", lambda v: [*v[:-1], float("nan")], "token 278 has the score nan"),
        ("scores", lambda v: [*v[:-1], 3], "token 278 has the score 3"),
        ("tokens", lambda v: [t.replace("<0x41>", "<0x4>") for t in v], "no byte token <0x41>"),
        ("token_type", lambda v: [min(t, 4) for t in v], "no byte token <0x00>"),
        ("tokens", lambda v: [*v[:-1], "▁z"], "token 278 ('▁z') has the character 'z'"),
        ("add_space_prefix", lambda v: 1, "is not a truth value"),
    ],
)
def test_wrong_vocabularies(key: str, change: Any, message: str) -> None:
    metadata = spm_metadata()
    metadata[KEY + key] = change(metadata[KEY + key])
    with pytest.raises(DiagnosticError) as caught:
        build_tokenizer(metadata)
    assert message in str(caught.value)
