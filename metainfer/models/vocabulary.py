"""The vocabulary that a GGUF file describes: texts and types of tokens, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import error
from metainfer.models.gguf import Value
from metainfer.models.tokenizer_tables import CONTROL_TEXTS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

KEY = "tokenizer.ggml."
BYTE_BPE, SPM, HUGGING_FACE = "gpt2", "llama", "huggingface"
"""`tokenizer.ggml.model`; the last is ours, for a folder's `tokenizer.json`."""


class TokenType(IntEnum):
    """`tokenizer.ggml.token_type`, as llama.cpp counts it."""

    UNDEFINED = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


_TYPES = tuple(TokenType)
_ADDED = (TokenType.UNKNOWN, TokenType.CONTROL, TokenType.USER_DEFINED)


@dataclass(frozen=True)
class Vocabulary:
    """Tokens in the order of their ids: their texts, their types, and the way back."""

    tokens: list[str]
    types: list[TokenType]
    ids: dict[str, int]

    def of_type(self, *types: TokenType) -> list[str]:
        """The texts of the tokens of these types."""
        pairs = zip(self.tokens, self.types, strict=True)
        return [text for text, kind in pairs if kind in types]


def read_vocabulary(metadata: Mapping[str, Value]) -> Vocabulary:
    """Texts and types, one of each for every id, no text twice."""
    tokens = texts(metadata, "tokens")
    ids: dict[str, int] = {}
    for index, token in enumerate(tokens):
        if not token:
            raise error(f"token {index} is empty")
        if token in ids:
            raise error(f"tokens {ids[token]} and {index} are both {token!r}")
        ids[token] = index
    return Vocabulary(tokens, token_types(metadata, tokens), ids)


def token_types(metadata: Mapping[str, Value], tokens: Sequence[str]) -> list[TokenType]:
    """The type of every token; the known control tokens are that whatever is stored."""
    values = metadata.get(KEY + "token_type")
    if values is None:
        values = [int(TokenType.NORMAL)] * len(tokens)
    if not isinstance(values, list) or len(values) != len(tokens):
        raise error(f"'{KEY}token_type' is not a list of {len(tokens)} token types")
    types: list[TokenType] = []
    for index, (kind, token) in enumerate(zip(values, tokens, strict=True)):
        if type(kind) is not int or not 0 <= kind < len(_TYPES):
            raise error(f"token {index} ({token!r}) has the unknown type {kind!r}")
        types.append(TokenType.CONTROL if token in CONTROL_TEXTS else _TYPES[kind])
    return types


def add_special_tokens(tokenizer: Tokenizer, vocabulary: Vocabulary) -> None:
    """Tell `tokenizers` which tokens are matched before splitting; no id may move by it."""
    from tokenizers import AddedToken

    tokenizer.add_tokens(
        [
            AddedToken(token, normalized=False, special=kind != TokenType.USER_DEFINED)
            for token, kind in zip(vocabulary.tokens, vocabulary.types, strict=True)
            if kind in _ADDED
        ]
    )
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    ids = enumerate(vocabulary.tokens)
    moved = [index for index, token in ids if tokenizer.token_to_id(token) != index]
    if size != len(vocabulary.tokens) or moved:
        raise RuntimeError(f"{size} tokens for {len(vocabulary.tokens)}, moved: {moved[:5]}")


def text(metadata: Mapping[str, Value], key: str) -> str:
    """A text among the tokenizer's metadata."""
    value = metadata.get(KEY + key)
    if not isinstance(value, str):
        raise error(f"the model file has no text '{KEY}{key}'")
    return value


def texts(metadata: Mapping[str, Value], key: str) -> list[str]:
    """A list of texts among the tokenizer's metadata."""
    value = metadata.get(KEY + key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise error(f"the model file has no list of texts '{KEY}{key}'")
    return [item for item in value if isinstance(item, str)]


def flag(metadata: Mapping[str, Value], key: str, *, default: bool) -> bool:
    """A truth value among the tokenizer's metadata."""
    value = metadata.get(KEY + key, default)
    if not isinstance(value, bool):
        raise error(f"'{KEY}{key}' is not a truth value")
    return value


def token_id(metadata: Mapping[str, Value], key: str, size: int) -> int | None:
    """An id below `size` among the tokenizer's metadata; None when the file has none."""
    value = metadata.get(KEY + key)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < size:
        raise error(f"'{KEY}{key}' is {value!r}, not a token id below {size:,}")
    return value
