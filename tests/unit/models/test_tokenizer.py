"""Byte-level BPE from GGUF metadata: splitting, special tokens, round trip, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models.tokenizer import TokenizerFacts, build_tokenizer, encode, tokenizer_facts
from metainfer.models.tokenizer_tables import BYTE_LETTERS, PRE_TOKENIZERS

Make = Callable[..., dict[str, Any]]
KEY = "tokenizer.ggml."


def _words(tokenizer: Tokenizer, text: str) -> list[str]:
    """The pieces of `text` before merging, as text again."""
    byte_of = {letter: byte for byte, letter in enumerate(BYTE_LETTERS)}
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str(text)
    return [bytes(byte_of[letter] for letter in piece).decode() for piece, _ in pieces]


def test_byte_letters_are_those_of_tokenizers() -> None:
    assert sorted(BYTE_LETTERS) == sorted(pre_tokenizers.ByteLevel.alphabet())
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for char in "\0 \n!a~\x7f ¡\xadéÿ☃🙂":
        ((piece, _),) = splitter.pre_tokenize_str(char)
        assert piece == "".join(BYTE_LETTERS[byte] for byte in char.encode())


@pytest.mark.parametrize(
    ("pre", "text", "words"),
    [
        ("gpt-2", "I've 2024 x", ["I", "'ve", " 2024", " x"]),
        ("smollm", "I've 2024 x", ["I", "'ve", " ", "2", "0", "2", "4", " x"]),
        ("qwen2", "I'VE 2024 x", ["I", "'VE", " ", "2", "0", "2", "4", " x"]),
        ("llama-bpe", "I've 20245 x", ["I", "'ve", " ", "202", "45", " x"]),
        ("gpt-2", "a  b\n\nc\n", ["a", " ", " b", "\n", "\n", "c", "\n"]),
        ("smollm", "a   b\nc", ["a", "  ", " b", "\n", "c"]),
        ("qwen2", "a  b\n\n c", ["a", " ", " b", "\n\n", " c"]),
        ("qwen2", "x.\n(y", ["x", ".\n", "(y"]),
        ("smollm", "x.\n(y", ["x", ".", "\n", "(", "y"]),
        ("qwen2", "it'ſ", ["it", "'ſ"]),
        ("smollm", "½٣", ["½", "٣"]),
    ],
)
def test_words(bpe_metadata: Make, pre: str, text: str, words: list[str]) -> None:
    assert _words(build_tokenizer(bpe_metadata(pre)), text) == words


def test_merges_apply_by_rank(bpe_metadata: Make) -> None:
    metadata = bpe_metadata(merges=["b c", "a b", "bc d", "Ġ a"])
    tokenizer = build_tokenizer(metadata)
    tokens = [metadata[KEY + "tokens"][i] for i in encode(tokenizer, "abcd a", parse_special=True)]
    assert tokens == ["a", "bcd", "Ġa"]


def test_ignore_merges_takes_whole_words(bpe_metadata: Make) -> None:
    for pre, expected in [("qwen2", ["a", "bc"]), ("llama-bpe", ["abc"])]:
        metadata = bpe_metadata(pre, merges=["b c", "a b", "ab c"])
        tokenizer = build_tokenizer(metadata)
        ids = encode(tokenizer, "abc", parse_special=True)
        assert [metadata[KEY + "tokens"][i] for i in ids] == expected


def test_special_tokens_only_in_template_text(bpe_metadata: Make) -> None:
    metadata = bpe_metadata(added=["<tool>"])
    tokenizer = build_tokenizer(metadata)
    tokens = metadata[KEY + "tokens"]
    start, tool = tokens.index("<|im_start|>"), tokens.index("<tool>")
    text = "<|im_start|>a<tool>"
    a = tokens.index("a")
    assert encode(tokenizer, text, parse_special=True) == [start, a, tool]
    plain = encode(tokenizer, text, parse_special=False)
    assert plain == [*(tokens.index(c) for c in "<|im_start|>"), a, tool]
    assert encode(tokenizer, text, parse_special=True) == [start, a, tool]


def test_an_end_token_stored_as_normal_is_special(bpe_metadata: Make) -> None:
    metadata = bpe_metadata(special=["<s>"], added=["<|eot_id|>"])
    metadata[KEY + "token_type"][-1] = 1
    eot = len(metadata[KEY + "tokens"]) - 1
    assert encode(build_tokenizer(metadata), "<|eot_id|>", parse_special=True) == [eot]
    assert tokenizer_facts(metadata).eos_ids == (eot - 1, eot)


@pytest.mark.parametrize("pre", PRE_TOKENIZERS)
def test_decoding_gives_the_text_back(bpe_metadata: Make, pre: str) -> None:
    tokenizer = build_tokenizer(bpe_metadata(pre, merges=["a b", "Ġ Ġ", "Ċ Ċ", "ð Ł", "1 2"]))
    vocab_size = tokenizer.get_vocab_size()

    @given(text=st.text(), special=st.booleans())
    def round_trip(text: str, special: bool) -> None:
        ids = encode(tokenizer, text, parse_special=special)
        assert all(0 <= token < vocab_size for token in ids)
        assert tokenizer.decode(ids, skip_special_tokens=False) == text

    round_trip()


def test_a_missing_byte_is_dropped_but_parts_its_neighbours(bpe_metadata: Make) -> None:
    missing = BYTE_LETTERS[0x04] + "-]^"
    metadata = bpe_metadata(merges=["! !"], without=missing)
    tokenizer = build_tokenizer(metadata)
    tokens = metadata[KEY + "tokens"]
    for gap in "\x04-]^":
        ids = encode(tokenizer, f"!{gap}!!", parse_special=False)
        assert [tokens[i] for i in ids] == ["!", "!!"]
    assert tokenizer_facts(metadata).missing_bytes == b"\x04-]^"


def test_the_json_form_keeps_the_tokenizer(bpe_metadata: Make) -> None:
    tokenizer = build_tokenizer(bpe_metadata(merges=["a b"], without=BYTE_LETTERS[4]))
    again = Tokenizer.from_str(tokenizer.to_str())
    for text in ("ab\x04ab 12", "<|im_start|>ab<|im_end|>"):
        for special in (False, True):
            expected = encode(tokenizer, text, parse_special=special)
            assert encode(again, text, parse_special=special) == expected


def test_facts(bpe_metadata: Make) -> None:
    metadata = bpe_metadata(special=["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    assert tokenizer_facts(metadata) == TokenizerFacts(256, (258, 256), False, 259, b"")
    metadata[KEY + "add_bos_token"] = True
    metadata[KEY + "eot_token_id"] = 257
    facts = tokenizer_facts(metadata)
    assert facts.add_bos
    assert facts.eos_ids == (258, 257, 256)
    assert tokenizer_facts(bpe_metadata("llama-bpe")).add_bos


def test_a_lone_surrogate_is_an_error(bpe_metadata: Make) -> None:
    tokenizer = build_tokenizer(bpe_metadata())
    with pytest.raises(DiagnosticError, match="not valid Unicode at character 1"):
        encode(tokenizer, "a\udcff", parse_special=False)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model", "bert", "tokenizer model 'bert' (WordPiece) is not supported"),
        ("model", None, "no text 'tokenizer.ggml.model'"),
        ("pre", "smolm", "unknown pre-tokenizer 'smolm'"),
        ("pre", None, "no text 'tokenizer.ggml.pre'"),
        ("tokens", None, "no list of texts 'tokenizer.ggml.tokens'"),
        ("tokens", [1, 2], "no list of texts 'tokenizer.ggml.tokens'"),
        ("tokens", ["a", "b", "a"], "tokens 0 and 2 are both 'a'"),
        ("tokens", ["a", ""], "token 1 is empty"),
        ("token_type", [1], "is not a list of 258 token types"),
        ("token_type", [7] * 258, "token 0 ('Ā') has the unknown type 7"),
        ("token_type", [True] * 258, "has the unknown type True"),
        ("merges", None, "no list of texts 'tokenizer.ggml.merges'"),
        ("merges", ["ab"], "merge 0 ('ab') is not two tokens"),
        ("merges", ["a b c"], "merge 0 ('a b c') is not two tokens"),
        ("merges", ["a b"], "merge 0 ('a b') needs the token 'ab', which is missing"),
    ],
)
def test_wrong_vocabularies(bpe_metadata: Make, key: str, value: object, message: str) -> None:
    metadata = {**bpe_metadata(), KEY + key: value}
    with pytest.raises(DiagnosticError) as caught:
        build_tokenizer(metadata)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("eos_token_id", None, "no 'tokenizer.ggml.eos_token_id'"),
        ("eos_token_id", 258, "is 258, not a token id below 258"),
        ("eot_token_id", -1, "is -1, not a token id"),
        ("bos_token_id", True, "is True, not a token id"),
        ("add_bos_token", 1, "is not a truth value"),
        ("add_eos_token", True, "appends an end token"),
    ],
)
def test_wrong_facts(bpe_metadata: Make, key: str, value: object, message: str) -> None:
    metadata = {**bpe_metadata(), KEY + key: value}
    with pytest.raises(DiagnosticError) as caught:
        tokenizer_facts(metadata)
    assert message in str(caught.value)


def test_adding_a_begin_token_needs_one(bpe_metadata: Make) -> None:
    metadata = {**bpe_metadata("llama-bpe"), KEY + "bos_token_id": None}
    with pytest.raises(DiagnosticError, match="adds a begin token"):
        tokenizer_facts(metadata)
