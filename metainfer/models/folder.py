"""A Hugging Face folder read as if it had been converted to GGUF.

`config.json` becomes GGUF metadata and every tensor gets its GGUF name, by a `config_map` contract.
What the converter does to values is done when they are read: rows of q and k are paired, norms get
the 1 that Gemma leaves out, and vectors become float32, as every kernel reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import error
from metainfer.models.config import FolderConfig, read_config
from metainfer.models.folder_tokenizer import folder_tokenizer
from metainfer.models.safetensors import (
    INDEX,
    SINGLE,
    SafetensorsFile,
    read_safetensors,
    read_sharded,
)
from metainfer.models.tensors import Tensor, TensorFormat, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from metainfer.models.config_map import ConfigMap, TensorRule

CONFIG = "config.json"
_MAX_VOCABULARY = 1 << 20


class HfFolder:
    """A `Checkpoint` of a folder with `config.json` and safetensors."""

    def __init__(
        self,
        path: Path,
        config: FolderConfig,
        stored: SafetensorsFile,
        renamed: Mapping[str, tuple[Tensor, TensorRule]],
        f32: TensorFormat,
    ) -> None:
        self.path = path
        self.metadata: Mapping[str, Value] = _Metadata(path, config)
        self._stored = stored
        self._renamed = renamed
        self.tensors = {name: _shown(name, tensor, f32) for name, (tensor, _) in renamed.items()}

    def data(self, tensor: Tensor) -> memoryview:
        """The bytes of a tensor as GGUF would hold them; a copy where they differ."""
        stored, rule = self._renamed[tensor.name]
        raw = self._stored.data(stored)
        if rule.pair_rows_of is not None:
            heads = self.metadata[rule.pair_rows_of]
            assert isinstance(heads, int)
            raw = _pair_rows(raw, stored.shape[0], heads)
        if len(stored.shape) > 1:
            return raw
        return _widened(raw, stored.format.name, rule.plus or 0.0)


def open_folder(
    path: Path, formats: Mapping[int, TensorFormat], maps: Sequence[ConfigMap]
) -> HfFolder:
    """Read a folder's config and the headers of its tensors; the tokenizer is read when asked for.

    Raises `DiagnosticError` for a config that no map covers, a tensor that the map does not know,
    and one that the config says must be there and is not.
    """
    config = read_config(path / CONFIG, maps)
    stored = _read_tensors(path, formats)
    renamed = dict(_renamed(config, stored))
    head = next(rule.to for rule in config.map.tensors.values() if rule.head)
    if not config.tied and head not in renamed:
        raise error(f"{stored.path}: has no output matrix, and the config does not tie it")
    if config.tied:
        renamed.pop(head, None)
    _check_rows(config, stored, renamed)
    f32 = next((form for form in formats.values() if form.name == "f32"), None)
    if f32 is None:
        raise error("there is no format contract for f32, which vectors are read as")
    return HfFolder(path, config, stored, renamed, f32)


class _Metadata(Mapping[str, Value]):
    """The config's metadata at once, the tokenizer's when first asked for: it takes a second."""

    def __init__(self, folder: Path, config: FolderConfig) -> None:
        self._folder = folder
        self._config = config
        self._known: dict[str, Value] = dict(config.metadata)
        self._complete = False

    def __getitem__(self, key: str) -> Value:
        if key.startswith("tokenizer."):
            self._read_tokenizer()
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        self._read_tokenizer()
        return iter(self._known)

    def __len__(self) -> int:
        self._read_tokenizer()
        return len(self._known)

    def _read_tokenizer(self) -> None:
        if self._complete:
            return
        size = self._known[self._config.map.key("{arch}.vocab_size")]
        assert isinstance(size, int)
        self._known |= folder_tokenizer(self._folder, self._config.document, size)
        self._complete = True


def _read_tensors(path: Path, formats: Mapping[int, TensorFormat]) -> SafetensorsFile:
    if (path / SINGLE).exists():
        return read_safetensors(path / SINGLE, formats)
    if (path / INDEX).exists():
        return read_sharded(path / INDEX, formats)
    raise error(
        f"{path}: has neither {SINGLE} nor {INDEX}",
        help="save the model with `save_pretrained`, which writes safetensors",
    )


def _renamed(
    config: FolderConfig, stored: SafetensorsFile
) -> Iterator[tuple[str, tuple[Tensor, TensorRule]]]:
    names = _Names(config.map, stored.path)
    seen: dict[str, str] = {}
    for name, tensor in stored.tensors.items():
        found = names.find(name)
        if found is None:
            continue
        target, rule = found
        if target in seen:
            raise error(f"{stored.path}: tensors {seen[target]!r} and {name!r} are both {target}")
        seen[target] = name
        if rule.pair_rows_of is not None:
            rule = rule.model_copy(update={"pair_rows_of": config.map.key(rule.pair_rows_of)})
            heads = config.metadata[rule.pair_rows_of or ""]
            if not isinstance(heads, int) or tensor.shape[0] % (2 * heads):
                raise error(
                    f"{stored.path}: tensor {name!r} has {tensor.shape[0]:,} rows, which are not "
                    f"pairs in each of {heads} heads"
                )
        if rule.plus is not None and len(tensor.shape) != 1:
            raise error(f"{stored.path}: tensor {name!r} is not a vector")
        yield target, (tensor, rule)


def _check_rows(
    config: FolderConfig, stored: SafetensorsFile, renamed: Mapping[str, tuple[Tensor, TensorRule]]
) -> None:
    """The embeddings must have a row for each token: the vocabulary is read at that size."""
    size = config.metadata[config.map.key("{arch}.vocab_size")]
    if "token_embd.weight" not in renamed:
        raise error(f"{stored.path}: has no embeddings")
    tensor, _ = renamed["token_embd.weight"]
    if tensor.shape[0] != size or tensor.shape[0] > _MAX_VOCABULARY:
        raise error(
            f"{stored.path}: tensor {tensor.name!r} has {tensor.shape[0]:,} rows, the config says "
            f"{size:,} tokens, and {_MAX_VOCABULARY:,} are allowed"
        )


class _Names:
    """Tensor names of a folder as GGUF names."""

    def __init__(self, map_: ConfigMap, path: Path) -> None:
        self._path = path
        self._prefixes = map_.prefixes
        self._rules = [(_pattern(name), rule) for name, rule in map_.tensors.items()]
        self._ignored = [_pattern(name) for name in map_.ignore]
        self._known = ", ".join(map_.model_type)

    def find(self, name: str) -> tuple[str, TensorRule] | None:
        """The name and rule of a tensor; None for one that the text model does not use."""
        if any(pattern.fullmatch(name) for pattern in self._ignored):
            return None
        plain = name
        for prefix, instead in self._prefixes.items():
            if name.startswith(prefix):
                plain = instead + name.removeprefix(prefix)
        for pattern, rule in self._rules:
            if (found := pattern.fullmatch(plain)) is not None:
                layer = found.groupdict().get("layer", "")
                return rule.to.replace("{layer}", layer), rule
        raise error(f"{self._path}: tensor {name!r} is not one that {self._known} has")


def _pattern(name: str) -> re.Pattern[str]:
    text = re.escape(name).replace(r"\{layer\}", "(?P<layer>0|[1-9][0-9]{0,4})")
    return re.compile(text.replace(r"\{any\}", ".*"), re.DOTALL)


def _shown(name: str, tensor: Tensor, f32: TensorFormat) -> Tensor:
    """The record of a tensor under its GGUF name; vectors are float32."""
    if len(tensor.shape) > 1:
        return replace(tensor, name=name)
    return replace(tensor, name=name, format=f32, nbytes=prod(tensor.shape) * f32.bytes)


def _pair_rows(raw: memoryview, rows: int, heads: int) -> memoryview:
    """Rows of each head from halves to pairs: 0, h/2, 1, h/2 + 1, ...; bytes of a row stay."""
    import numpy as np

    stored = np.frombuffer(raw, np.uint8).reshape(heads, 2, rows // heads // 2, -1)
    return np.ascontiguousarray(stored.swapaxes(1, 2)).reshape(-1).data


def _widened(raw: memoryview, format: str, plus: float) -> memoryview:
    import numpy as np

    values = _floats(raw, format) + np.float32(plus)
    return values.astype("<f4").view(np.uint8).data


def _floats(raw: memoryview, format: str) -> NDArray[np.float32]:
    import numpy as np

    if format == "bf16":
        wide = np.frombuffer(raw, "<u2").astype(np.uint32) << np.uint32(16)
        return wide.view(np.float32)
    return np.frombuffer(raw, {"f32": "<f4", "f16": "<f2"}[format]).astype(np.float32)
