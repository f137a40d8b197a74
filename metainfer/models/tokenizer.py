"""The tokenizer of a GGUF file as a `tokenizers.Tokenizer`: byte-level BPE.

Two ways to encode, as in llama.cpp (`parse_special`):

- *plain text*, what a user typed: the text of a special token is ordinary text, so that a user
  cannot end a turn or open another by writing `<|im_end|>`;
- *template text*, what a chat template produced: special tokens are recognised.

`tokenizers` keeps this choice as the property `encode_special_tokens` (True: encode them as
ordinary text), which `tokenizer.json` does not store; `encode` sets it for every call. Tokens of
type "user-defined" are recognised in both. No BOS is added: `TokenizerFacts.add_bos` tells the
caller.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import did_you_mean, error
from metainfer.models.gguf import Value
from metainfer.models.tokenizer_tables import (
    BYTE_LETTERS,
    END_TEXTS,
    PRE_TOKENIZERS,
    PreTokenizer,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_KEY = "tokenizer.ggml."
_END_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
_OTHER_MODELS = {
    "llama": "SentencePiece",
    "bert": "WordPiece",
    "t5": "Unigram",
    "rwkv": "RWKV",
}


@dataclass(frozen=True)
class TokenizerFacts:
    """What an engine must know besides the tokenizer.

    `eos_ids` are all tokens that end an answer, the file's end-of-sequence token first.
    `missing_bytes` have no token: encoding drops them, as llama.cpp does (SmolLM2 lacks six control
    characters, the lead bytes of planes 4 to 11 and those that UTF-8 never uses).
    """

    bos_id: int | None
    eos_ids: tuple[int, ...]
    add_bos: bool
    vocab_size: int
    missing_bytes: bytes


def build_tokenizer(metadata: Mapping[str, Value]) -> Tokenizer:
    """The tokenizer that the file's metadata describe, equal to llama.cpp's.

    Raises `DiagnosticError` for another kind than byte-level BPE, for an unknown pre-tokenizer and
    for a vocabulary that contradicts itself.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    pre = _pre_tokenizer(metadata)
    tokens = _strings(metadata, "tokens")
    vocab = _vocabulary(tokens)
    types = _types(metadata, tokens)
    merges = _merges(metadata, vocab)
    tokenizer = Tokenizer(models.BPE(vocab, merges, ignore_merges=pre.ignore_merges))
    steps: list[pre_tokenizers.PreTokenizer] = [
        pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in pre.patterns
    ]
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    if missing := _missing_bytes(vocab):
        # `tokenizers` would drop these letters before merging and then merge across the gap.
        letters = "".join(re.escape(BYTE_LETTERS[byte]) for byte in missing)
        steps.append(pre_tokenizers.Split(Regex(f"[{letters}]"), "removed"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    added = [
        AddedToken(text, normalized=False, special=kind != _USER_DEFINED)
        for text, kind in zip(tokens, types, strict=True)
        if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED)
    ]
    tokenizer.add_tokens(added)
    _check_ids(tokenizer, tokens)
    return tokenizer


def tokenizer_facts(metadata: Mapping[str, Value]) -> TokenizerFacts:
    """Begin and end tokens and the size of the vocabulary, each id checked against it."""
    pre = _pre_tokenizer(metadata)
    tokens = _strings(metadata, "tokens")
    types = _types(metadata, tokens)
    if _flag(metadata, "add_eos_token", default=False):
        raise error("the tokenizer appends an end token to every prompt, which is not supported")
    ends = [_token_id(metadata, key, len(tokens)) for key in _END_KEYS]
    if ends[0] is None:
        raise error(f"the model file has no '{_KEY}eos_token_id'")
    ends += [
        index
        for index, (text, kind) in enumerate(zip(tokens, types, strict=True))
        if kind == _CONTROL and text in END_TEXTS
    ]
    bos_id = _token_id(metadata, "bos_token_id", len(tokens))
    add_bos = _flag(metadata, "add_bos_token", default=pre.add_bos)
    if add_bos and bos_id is None:
        raise error(f"the tokenizer adds a begin token, but there is no '{_KEY}bos_token_id'")
    known = tuple(dict.fromkeys(end for end in ends if end is not None))
    missing = _missing_bytes(frozenset(tokens))
    return TokenizerFacts(bos_id, known, add_bos, len(tokens), missing)


def encode(tokenizer: Tokenizer, text: str, *, parse_special: bool) -> list[int]:
    """Token ids of `text`: template text if `parse_special`, else plain text.

    The mode is a property of the shared object: do not encode in two modes at the same time.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise error(
            f"the text is not valid Unicode at character {problem.start:,} (a lone surrogate)",
            help="give the text as UTF-8",
        ) from None
    tokenizer.encode_special_tokens = not parse_special
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def _pre_tokenizer(metadata: Mapping[str, Value]) -> PreTokenizer:
    model = _string(metadata, "model")
    if model != "gpt2":
        kind = f" ({_OTHER_MODELS[model]})" if model in _OTHER_MODELS else ""
        raise error(
            f"tokenizer model '{model}'{kind} is not supported",
            help="use a model with a byte-level BPE tokenizer ('gpt2' in GGUF)",
        )
    name = _string(metadata, "pre")
    if name not in PRE_TOKENIZERS:
        raise error(
            f"unknown pre-tokenizer '{name}'",
            help=did_you_mean(name, PRE_TOKENIZERS) or f"known: {', '.join(PRE_TOKENIZERS)}",
        )
    return PRE_TOKENIZERS[name]


def _vocabulary(tokens: Sequence[str]) -> dict[str, int]:
    vocab: dict[str, int] = {}
    for index, text in enumerate(tokens):
        if not text:
            raise error(f"token {index} is empty")
        if text in vocab:
            raise error(f"tokens {vocab[text]} and {index} are both {text!r}")
        vocab[text] = index
    return vocab


def _types(metadata: Mapping[str, Value], tokens: Sequence[str]) -> list[int]:
    """The type of every token; the known end tokens count as control tokens whatever is stored."""
    values = metadata.get(_KEY + "token_type")
    if values is None:
        values = [_NORMAL] * len(tokens)
    if not isinstance(values, list) or len(values) != len(tokens):
        raise error(f"'{_KEY}token_type' is not a list of {len(tokens)} token types")
    types: list[int] = []
    for index, (kind, text) in enumerate(zip(values, tokens, strict=True)):
        if type(kind) is not int or not 0 <= kind <= _BYTE:
            raise error(f"token {index} ({text!r}) has the unknown type {kind!r}")
        types.append(_CONTROL if text in END_TEXTS else kind)
    return types


def _merges(metadata: Mapping[str, Value], vocab: Mapping[str, int]) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for index, merge in enumerate(_strings(metadata, "merges")):
        left, space, right = merge.partition(" ")
        if not (left and space and right) or " " in right:
            raise error(f"merge {index} ({merge!r}) is not two tokens with a space between")
        for text in (left, right, left + right):
            if text not in vocab:
                raise error(f"merge {index} ({merge!r}) needs the token {text!r}, which is missing")
        merges.append((left, right))
    return merges


def _missing_bytes(vocab: Container[str]) -> bytes:
    return bytes(byte for byte, letter in enumerate(BYTE_LETTERS) if letter not in vocab)


def _check_ids(tokenizer: Tokenizer, tokens: Sequence[str]) -> None:
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    moved = [index for index, text in enumerate(tokens) if tokenizer.token_to_id(text) != index]
    if size != len(tokens) or moved:
        raise RuntimeError(f"the tokenizer has {size} tokens for {len(tokens)}, moved: {moved[:5]}")


def _string(metadata: Mapping[str, Value], key: str) -> str:
    value = metadata.get(_KEY + key)
    if not isinstance(value, str):
        raise error(f"the model file has no text '{_KEY}{key}'")
    return value


def _strings(metadata: Mapping[str, Value], key: str) -> list[str]:
    value = metadata.get(_KEY + key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise error(f"the model file has no list of texts '{_KEY}{key}'")
    return [item for item in value if isinstance(item, str)]


def _flag(metadata: Mapping[str, Value], key: str, *, default: bool) -> bool:
    value = metadata.get(_KEY + key, default)
    if not isinstance(value, bool):
        raise error(f"'{_KEY}{key}' is not a truth value")
    return value


def _token_id(metadata: Mapping[str, Value], key: str, size: int) -> int | None:
    value = metadata.get(_KEY + key)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < size:
        raise error(f"'{_KEY}{key}' is {value!r}, not a token id below {size:,}")
    return value
