"""The tokenizer of a model as a `tokenizers.Tokenizer`: byte-level BPE, SentencePiece, or a
`tokenizer.json` as it is.

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

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.files import cache_dir
from metainfer.ir.diagnostics import error
from metainfer.models.byte_bpe import build_byte_bpe, missing_bytes, pre_tokenizer
from metainfer.models.folder_tokenizer import load_json
from metainfer.models.gguf import Value
from metainfer.models.spm import build_spm
from metainfer.models.tokenizer_tables import END_TEXTS
from metainfer.models.vocabulary import (
    BYTE_BPE,
    HUGGING_FACE,
    KEY,
    SPM,
    TokenType,
    flag,
    text,
    texts,
    token_id,
    token_types,
)
from metainfer.sealed import is_whole, write_sealed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_END_KEYS = ("eos_token_id", "eot_token_id", "eom_token_id")
_OTHER_MODELS = {"bert": "WordPiece", "t5": "Unigram", "rwkv": "RWKV"}
_DERIVATION = 1
"""Part of a stored tokenizer's name: counted up when the way it is derived changes."""


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

    Raises `DiagnosticError` for a kind other than byte-level BPE and SentencePiece, for an unknown
    pre-tokenizer and for a vocabulary that contradicts itself.
    """
    from tokenizers import Tokenizer

    return Tokenizer.from_str(tokenizer_json(metadata))


def tokenizer_json(metadata: Mapping[str, Value]) -> str:
    """The same as the text of a `tokenizer.json`.

    Deriving SentencePiece merges takes seconds, and checking others a good part of one, so the
    result is kept in `cache_dir()/tokenizers` under a digest of everything it depends on.
    """
    entry = _entry(metadata)
    if is_whole(entry):
        return entry.read_text("utf-8")
    derived = _derived(metadata).to_str()
    # The store only saves time: a cache that cannot be written costs a second derivation.
    with contextlib.suppress(OSError):
        write_sealed(entry, derived.encode())
    return derived


def _derived(metadata: Mapping[str, Value]) -> Tokenizer:
    model = _model(metadata)
    if model == BYTE_BPE:
        return build_byte_bpe(metadata)
    if model == SPM:
        return build_spm(metadata)
    return load_json(_hugging_face_json(metadata), "tokenizer.json")


def tokenizer_facts(metadata: Mapping[str, Value]) -> TokenizerFacts:
    """Begin and end tokens and the size of the vocabulary, each id checked against it."""
    model = _model(metadata)
    byte_level = model == BYTE_BPE
    tokens = texts(metadata, "tokens")
    types = token_types(metadata, tokens)
    if flag(metadata, "add_eos_token", default=False):
        raise error("the tokenizer appends an end token to every prompt, which is not supported")
    ends = [token_id(metadata, key, len(tokens)) for key in _END_KEYS]
    if ends[0] is None:
        raise error(f"the model file has no '{KEY}eos_token_id'")
    ends += _more_ends(metadata, len(tokens))
    ends += [
        index
        for index, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind == TokenType.CONTROL and token in END_TEXTS
    ]
    bos_id = token_id(metadata, "bos_token_id", len(tokens))
    usual = pre_tokenizer(metadata).add_bos if byte_level else model == SPM
    add_bos = flag(metadata, "add_bos_token", default=usual)
    if add_bos and bos_id is None:
        raise error(f"the tokenizer adds a begin token, but there is no '{KEY}bos_token_id'")
    known = tuple(dict.fromkeys(end for end in ends if end is not None))
    missing = missing_bytes(frozenset(tokens)) if byte_level else b""
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


def _model(metadata: Mapping[str, Value]) -> str:
    model = text(metadata, "model")
    if model not in (BYTE_BPE, SPM, HUGGING_FACE):
        kind = f" ({_OTHER_MODELS[model]})" if model in _OTHER_MODELS else ""
        raise error(
            f"tokenizer model '{model}'{kind} is not supported",
            help=f"supported: '{BYTE_BPE}' (byte-level BPE) and '{SPM}' (SentencePiece BPE)",
        )
    return model


def _hugging_face_json(metadata: Mapping[str, Value]) -> str:
    source = metadata.get("tokenizer.huggingface.json")
    if not isinstance(source, str):
        raise error("the model file has no text 'tokenizer.huggingface.json'")
    return source


def _more_ends(metadata: Mapping[str, Value], size: int) -> list[int]:
    """All end tokens of a folder, which can name several; a GGUF file has no such list."""
    values = metadata.get(KEY + "eos_token_ids", [])
    if not isinstance(values, list):
        raise error(f"'{KEY}eos_token_ids' is not a list")
    ends = [token for token in values if type(token) is int and 0 <= token < size]
    if len(ends) != len(values):
        raise error(f"'{KEY}eos_token_ids' are not all token ids below {size:,}")
    return ends


def _entry(metadata: Mapping[str, Value]) -> Path:
    import tokenizers

    facts = {key: value for key, value in metadata.items() if key.startswith(KEY)}
    # Other versions of the library may write another form.
    source = json.dumps([_DERIVATION, tokenizers.__version__, facts], sort_keys=True)
    return cache_dir() / "tokenizers" / f"{hashlib.sha256(source.encode()).hexdigest()[:32]}.json"
