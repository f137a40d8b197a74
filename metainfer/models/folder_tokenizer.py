"""The tokenizer of a Hugging Face folder as metadata: its `tokenizer.json` as it is, and facts.

`tokenizer.json` says how text becomes ids; which ids begin and end an answer stands in up to four
other files, by text or by number. The result has GGUF's keys, with the file itself under the key
that GGUF has for it, so that the rest of the program knows one form only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metainfer.ir.diagnostics import error
from metainfer.models.json_reader import Document, read_document
from metainfer.models.tensors import Value
from metainfer.models.vocabulary import HUGGING_FACE, KEY, TokenType

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
)
_MAX_TOKENIZER = 64 << 20
_MAX_TEMPLATE = 1 << 20
_PROBE = "a"
_PADDING = "[UNUSED]"


def folder_tokenizer(folder: Path, config: Document, vocab_size: int) -> dict[str, Value]:
    """The `tokenizer.*` metadata of a folder whose model has `vocab_size` rows of logits."""
    source = _read_text(folder / "tokenizer.json", _MAX_TOKENIZER)
    tokenizer = load_json(source, str(folder / "tokenizer.json"))
    facts = _Facts(folder, config, tokenizer, vocab_size)
    return {
        KEY + "model": HUGGING_FACE,
        "tokenizer.huggingface.json": source,
        **_tokens(tokenizer, vocab_size, folder),
        **facts.metadata(),
    }


def load_json(source: str, name: str) -> Tokenizer:
    """The tokenizer in the text of a `tokenizer.json`; `name` names it in errors."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(source)
    except BaseException as problem:
        # The library is compiled Rust, whose panics are no `Exception`.
        if isinstance(problem, Exception) or type(problem).__name__ == "PanicException":
            raise error(f"{name}: not a tokenizer: {str(problem)[:200]}") from None
        raise
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _read_text(path: Path, most: int) -> str:
    try:
        if not path.is_file():
            raise error(
                f"{path}: there is no such file",
                help="save the tokenizer in its fast form, which writes tokenizer.json",
            )
        size = path.stat().st_size
        if size > most:
            raise error(f"{path}: has {size:,} bytes, allowed are {most:,}")
        return path.read_text("utf-8")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: not UTF-8 text (byte {problem.start:,})") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}") from None


def _tokens(tokenizer: Tokenizer, size: int, folder: Path) -> dict[str, Value]:
    """Texts and types of all ids; ids that the tokenizer lacks are padding of the model's rows."""
    tokens = [_PADDING] * size
    types = [int(TokenType.UNUSED)] * size
    for text, index in tokenizer.get_vocab(with_added_tokens=True).items():
        if index >= size:
            raise error(f"{folder / 'tokenizer.json'}: token {index} is not below {size:,}")
        tokens[index], types[index] = text, int(TokenType.NORMAL)
    for index, added in tokenizer.get_added_tokens_decoder().items():
        kind = TokenType.CONTROL if added.special else TokenType.USER_DEFINED
        types[index] = int(kind)
    return {KEY + "tokens": tokens, KEY + "token_type": types}


class _Facts:
    """Begin and end tokens and the chat template, from whichever files have them."""

    def __init__(self, folder: Path, config: Document, tokenizer: Tokenizer, size: int) -> None:
        self._tokenizer = tokenizer
        self._size = size
        self._folder = folder
        self._config = config
        self._settings = self._optional("tokenizer_config.json")
        self._special = self._optional("special_tokens_map.json")
        self._generation = self._optional("generation_config.json")

    def metadata(self) -> dict[str, Value]:
        ends = list(dict.fromkeys(self._ends()))
        if not ends:
            raise error(f"{self._folder}: no file says which token ends an answer")
        begins = list(self._begins())
        found: dict[str, Value] = {
            KEY + "eos_token_id": ends[0],
            KEY + "eos_token_ids": ends,
            KEY + "add_bos_token": self._adds_bos(begins[:1]),
        }
        if begins:
            found[KEY + "bos_token_id"] = begins[0]
        if (template := self._template()) is not None:
            found["tokenizer.chat_template"] = template
        return found

    def _optional(self, name: str) -> Document | None:
        path = self._folder / name
        return read_document(path) if path.exists() else None

    def _ends(self) -> Iterator[int]:
        yield from self._text(self._settings, "eos_token")
        yield from self._text(self._special, "eos_token")
        yield from self._ids(self._generation, "eos_token_id")
        yield from self._ids(self._config, "eos_token_id")

    def _begins(self) -> Iterator[int]:
        yield from self._text(self._settings, "bos_token")
        yield from self._text(self._special, "bos_token")
        yield from self._ids(self._generation, "bos_token_id")
        yield from self._ids(self._config, "bos_token_id")

    def _ids(self, document: Document | None, key: str) -> Iterator[int]:
        """One id or a list of them."""
        value = None if document is None else document.values.get(key)
        if document is None or value is None:
            return
        for index in value if isinstance(value, list) else [value]:
            if type(index) is not int or not 0 <= index < self._size:
                what = f"{key} {index!r} is not a token id below {self._size:,}"
                raise error(what, document.place([key]))
            yield index

    def _text(self, document: Document | None, key: str) -> Iterator[int]:
        """A token by its text, plain or as the member `content`."""
        value = None if document is None else document.values.get(key)
        if document is None or value is None:
            return
        text = value.get("content") if isinstance(value, dict) else value
        index = self._tokenizer.token_to_id(text) if isinstance(text, str) else None
        if index is None:
            raise error(f"{key} {text!r} is not a token", document.place([key]))
        yield index

    def _adds_bos(self, bos: list[int]) -> bool:
        """What the settings say, else what the tokenizer does."""
        said = None if self._settings is None else self._settings.values.get("add_bos_token")
        if self._settings is not None and said is not None:
            if not isinstance(said, bool):
                at = self._settings.place(["add_bos_token"])
                raise error(f"add_bos_token {said!r} is neither true nor false", at)
            return said and bool(bos)
        plain: list[int] = self._tokenizer.encode(_PROBE, add_special_tokens=False).ids
        framed: list[int] = self._tokenizer.encode(_PROBE, add_special_tokens=True).ids
        if framed not in (plain, bos + plain):
            raise error(
                f"{self._folder / 'tokenizer.json'}: adds other tokens to a prompt than a begin "
                "token, which is not supported"
            )
        return framed != plain

    def _template(self) -> str | None:
        path = self._folder / "chat_template.jinja"
        if path.exists():
            return _read_text(path, _MAX_TEMPLATE)
        value = None if self._settings is None else self._settings.values.get("chat_template")
        if isinstance(value, list):
            value = next((_template_of(item) for item in value if _is_default(item)), None)
        if self._settings is None or value is None:
            return None
        if not isinstance(value, str):
            raise error("chat_template is not a text", self._settings.place(["chat_template"]))
        return value


def _is_default(item: Any) -> bool:
    return isinstance(item, dict) and item.get("name") == "default"


def _template_of(item: Any) -> Any:
    return item.get("template")
