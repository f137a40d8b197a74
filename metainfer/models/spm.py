"""SentencePiece BPE (`llama` in GGUF), as merges.

SentencePiece joins the two neighbours whose joined text has the best score, the leftmost first.
The file stores scores and no merges; BPE with every split of every piece into two pieces as a
merge, in the order of the scores, does the same. Characters without a piece become byte tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import error
from metainfer.models.gguf import Value
from metainfer.models.vocabulary import (
    KEY,
    TokenType,
    Vocabulary,
    add_special_tokens,
    flag,
    read_vocabulary,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPACE = "\u2581"
"""Stands for a space inside pieces."""


def build_spm(metadata: Mapping[str, Value]) -> Tokenizer:
    """The tokenizer; takes seconds for 10^5 tokens, so callers keep its JSON form.

    Raises `DiagnosticError` for a vocabulary without a token for every byte, with unusable scores,
    or with a piece of characters that are no pieces themselves.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers

    vocabulary = read_vocabulary(metadata)
    _check_bytes(vocabulary)
    merges = _merges(vocabulary, _scores(metadata, len(vocabulary.tokens)))
    tokenizer = Tokenizer(models.BPE(vocabulary.ids, merges, byte_fallback=True))
    prefix = flag(metadata, "add_space_prefix", default=True)
    # Tokens of type "user-defined" are stored with true spaces and are matched before this.
    spaces: list[normalizers.Normalizer] = [normalizers.Prepend(SPACE)] * prefix
    tokenizer.normalizer = normalizers.Sequence([*spaces, normalizers.Replace(" ", SPACE)])
    strip: list[decoders.Decoder] = [decoders.Strip(" ", 1, 0)] * prefix
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *strip]
    )
    add_special_tokens(tokenizer, vocabulary)
    return tokenizer


def _check_bytes(vocabulary: Vocabulary) -> None:
    for byte in range(256):
        token = vocabulary.ids.get(f"<0x{byte:02X}>")
        if token is None or vocabulary.types[token] != TokenType.BYTE:
            raise error(f"the vocabulary has no byte token <0x{byte:02X}>")


def _scores(metadata: Mapping[str, Value], size: int) -> list[float]:
    """The score of every token; without any, all are equal and the lower id is joined first."""
    values = metadata.get(KEY + "scores")
    if values is None:
        return [0.0] * size
    if not isinstance(values, list) or len(values) != size:
        raise error(f"'{KEY}scores' is not a list of {size} scores")
    scores: list[float] = []
    for index, score in enumerate(values):
        if not isinstance(score, float) or not math.isfinite(score):
            raise error(f"token {index} has the score {score!r}, which is not a finite number")
        scores.append(score)
    return scores


def _merges(vocabulary: Vocabulary, scores: list[float]) -> list[tuple[str, str]]:
    """Every split of a piece into two pieces, the best score first.

    Control, user-defined and byte tokens take no part: a user's text cannot spell them.
    """
    pieces = frozenset(vocabulary.of_type(TokenType.NORMAL, TokenType.UNUSED))
    merges: list[tuple[str, str]] = []
    for index in sorted(range(len(scores)), key=lambda index: (-scores[index], index)):
        token = vocabulary.tokens[index]
        if len(token) == 1 or token not in pieces:
            continue
        lone = next((char for char in token if char not in vocabulary.ids), None)
        if lone is not None:
            raise error(f"token {index} ({token!r}) has the character {lone!r}, which is no token")
        merges += [
            (token[:cut], token[cut:])
            for cut in range(1, len(token))
            if token[:cut] in pieces and token[cut:] in pieces
        ]
    return merges
