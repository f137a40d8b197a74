"""Byte-level BPE (`gpt2` in GGUF): text as bytes, cut into words, merged by the file's list."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import did_you_mean, error
from metainfer.models.gguf import Value
from metainfer.models.tokenizer_tables import BYTE_LETTERS, PRE_TOKENIZERS, PreTokenizer
from metainfer.models.vocabulary import add_special_tokens, read_vocabulary, text, texts

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def build_byte_bpe(metadata: Mapping[str, Value]) -> Tokenizer:
    """The tokenizer; an unknown pre-tokenizer or a merge without its tokens is an error."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    pre = pre_tokenizer(metadata)
    vocabulary = read_vocabulary(metadata)
    merges = _merges(metadata, vocabulary.ids)
    tokenizer = Tokenizer(models.BPE(vocabulary.ids, merges, ignore_merges=pre.ignore_merges))
    steps: list[pre_tokenizers.PreTokenizer] = [
        pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in pre.patterns
    ]
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    if missing := missing_bytes(vocabulary.ids):
        # `tokenizers` would drop these letters before merging and then merge across the gap.
        letters = "".join(re.escape(BYTE_LETTERS[byte]) for byte in missing)
        steps.append(pre_tokenizers.Split(Regex(f"[{letters}]"), "removed"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    add_special_tokens(tokenizer, vocabulary)
    return tokenizer


def pre_tokenizer(metadata: Mapping[str, Value]) -> PreTokenizer:
    """How the file's `tokenizer.ggml.pre` cuts text into words."""
    name = text(metadata, "pre")
    if name not in PRE_TOKENIZERS:
        raise error(
            f"unknown pre-tokenizer '{name}'",
            help=did_you_mean(name, PRE_TOKENIZERS) or f"known: {', '.join(PRE_TOKENIZERS)}",
        )
    return PRE_TOKENIZERS[name]


def missing_bytes(vocabulary: Container[str]) -> bytes:
    """The bytes that no token spells."""
    return bytes(byte for byte, letter in enumerate(BYTE_LETTERS) if letter not in vocabulary)


def _merges(metadata: Mapping[str, Value], ids: Mapping[str, int]) -> list[tuple[str, str]]:
    merges: list[tuple[str, str]] = []
    for index, merge in enumerate(texts(metadata, "merges")):
        left, space, right = merge.partition(" ")
        if not (left and space and right) or " " in right:
            raise error(f"merge {index} ({merge!r}) is not two tokens with a space between")
        for token in (left, right, left + right):
            if token not in ids:
                raise error(
                    f"merge {index} ({merge!r}) needs the token {token!r}, which is missing"
                )
        merges.append((left, right))
    return merges
