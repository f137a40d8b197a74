"""`config.json` of a Hugging Face folder as GGUF metadata, by a `config_map` contract.

What the map does not expect is refused at its line: a value that changes the equations must not
be passed over because it is spelled in a new way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from metainfer.ir.diagnostics import error
from metainfer.models.json_reader import Document, read_document
from metainfer.models.tensors import Scalar

if TYPE_CHECKING:
    from metainfer.models.config_map import ConfigMap, Expectation, MetadataRule

_REFUSED = {
    "quantization_config": "its weights are quantised in a way that is not supported",
    "auto_map": "it brings its own code, which is never run",
}
_DTYPES = ("float32", "float16", "bfloat16")
_MAX_INT = 2**31


@dataclass(frozen=True)
class FolderConfig:
    """A checked `config.json`: its map, its metadata, and whether the output matrix is tied."""

    document: Document
    map: ConfigMap
    metadata: dict[str, Scalar]
    tied: bool


def read_config(path: Path, maps: Sequence[ConfigMap]) -> FolderConfig:
    """Read `config.json` by the map of its model type.

    Raises `DiagnosticError` at line and column for an unknown model type, a value that is missing,
    contradicts another or is out of range, and for what the map does not hold for.
    """
    document = read_document(path)
    map_, inside = _find_map(document, maps)
    return _Config(document, map_, inside).read()


def _find_map(document: Document, maps: Sequence[ConfigMap]) -> tuple[ConfigMap, tuple[str, ...]]:
    kind = document.values.get("model_type")
    for map_ in maps:
        if kind in map_.model_type:
            return map_, ()
        if isinstance(kind, str) and kind in map_.containers:
            return map_, (map_.containers[kind],)
    known = ", ".join(sorted(word for map_ in maps for word in map_.model_type))
    raise error(
        f"unknown model_type {kind!r}",
        document.place(["model_type"]),
        help=f"this version knows: {known}",
    )


class _Config:
    """Reads one document by one map; `inside` leads to the member that holds the text model."""

    def __init__(self, document: Document, map_: ConfigMap, inside: tuple[str, ...]) -> None:
        self._document = document
        self._map = map_
        self._inside = inside
        self._values = document.values
        for key in inside:
            held = self._values.get(key)
            if not isinstance(held, dict) or held.get("model_type") not in map_.model_type:
                self._fail(f"'{key}' is no config of {' or '.join(map_.model_type)}", "")
            self._values = held

    def read(self) -> FolderConfig:
        self._check_kind()
        metadata: dict[str, Scalar] = {"general.architecture": self._map.arch}
        if (dtype := self._dtype()) is not None:
            metadata["general.dtype"] = dtype
        for pattern, rule in self._map.metadata.items():
            value = self._by_rule(rule)
            if value is not None:
                metadata[self._map.key(pattern)] = value
        for path, expected in self._map.expect.items():
            self._expect(path, expected, metadata)
        self._check_closed(metadata)
        self._check_layer_types(metadata)
        return FolderConfig(self._document, self._map, metadata, self._tied())

    def _fail(self, what: str, path: str, help: str | None = None) -> NoReturn:
        keys = [*self._inside, *path.split(".")] if path else self._inside
        raise error(what, self._document.place(keys), help=help)

    def _get(self, path: str) -> Any:
        """The value at a dotted path; None where it or an object on the way is absent or null."""
        value: Any = self._values
        *objects, last = path.split(".")
        for place, key in enumerate(objects):
            value = value.get(key)
            if value is None:
                return None
            if not isinstance(value, dict):
                self._fail(f"'{key}' is not an object", ".".join(objects[: place + 1]))
        return value.get(last)

    def _check_kind(self) -> None:
        for values in (self._document.values, self._values):
            for key, reason in _REFUSED.items():
                if values.get(key) is not None:
                    at = self._document.place([key])
                    raise error(f"the model has '{key}': {reason}", at)
        named = self._document.values.get("architectures")
        if named is None:
            return
        known = self._map.architectures
        if not isinstance(named, list) or any(name not in known for name in named):
            at = self._document.place(["architectures"])
            raise error(f"'architectures' must be {' or '.join(known)}", at)

    def _dtype(self) -> str | None:
        for key in ("dtype", "torch_dtype"):
            for values in (self._values, self._document.values):
                value = values.get(key)
                if value is None:
                    continue
                name = value.removeprefix("torch.") if isinstance(value, str) else value
                if name not in _DTYPES:
                    at = self._document.place([key])
                    raise error(f"{key} {value!r} is none of {', '.join(_DTYPES)}", at)
                assert isinstance(name, str)
                return name
        return None

    def _by_rule(self, rule: MetadataRule) -> Scalar | None:
        if rule.when is not None and not self._flag(rule.when, default=False):
            return None
        found = list(self._spelled(rule.from_, rule))
        if not found and rule.otherwise is not None:
            found = list(self._spelled((rule.otherwise,), rule))
        for path, value in found[1:]:
            if value != found[0][1]:
                self._fail(f"{path} = {value} contradicts {found[0][0]} = {found[0][1]}", path)
        if found:
            return None if found[0][1] in rule.absent else found[0][1]
        if rule.default is None and not rule.optional:
            self._fail(f"the config does not say {' or '.join(rule.from_)}", "")
        return rule.default

    def _spelled(self, paths: Sequence[str], rule: MetadataRule) -> Iterator[tuple[str, Scalar]]:
        for path in paths:
            value = self._get(path)
            if value is not None:
                yield path, self._typed(path, value, rule.type_)

    def _typed(self, path: str, value: Any, kind: str) -> Scalar:
        if kind == "text":
            if not isinstance(value, str) or not value.isprintable():
                self._fail(f"{path} = {value!r} is not a text", path)
            return value
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 < value < _MAX_INT:
            self._fail(f"{path} = {value!r} is not a number between 0 and 2^31", path)
        if kind == "int" and not isinstance(value, int):
            self._fail(f"{path} = {value!r} is not a whole number", path)
        return int(value) if kind == "int" else float(value)

    def _flag(self, path: str, *, default: bool) -> bool:
        value = self._get(path)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._fail(f"{path} = {value!r} is neither true nor false", path)
        return value

    def _expect(self, path: str, expected: Expectation, metadata: Mapping[str, Scalar]) -> None:
        value = self._get(path)
        if value is None:
            value = expected.default
        if value is None:
            return
        allowed = list(expected.one_of)
        if expected.same_as is not None:
            allowed.append(metadata[self._map.key(expected.same_as)])
        if not any(_same(value, good) for good in allowed):
            said = " or ".join(map(repr, allowed)) if allowed else "absent"
            self._fail(f"{path} = {value!r}: this family needs it to be {said}", path)

    def _check_closed(self, metadata: Mapping[str, Scalar]) -> None:
        """Refuse members of an object that nothing reads, such as a factor without a type."""
        rules = self._map.metadata.values()
        read = {path for rule in rules for path in rule.from_} | set(self._map.expect)
        known = {path for leaf in read for path in _upwards(leaf)}
        for path, unless in self._map.closed.items():
            held = self._get(path)
            if held is None or self._map.key(unless) in metadata:
                continue
            if not isinstance(held, dict):
                self._fail(f"'{path}' is not an object", path)
            for key in held:
                if f"{path}.{key}" not in known:
                    self._fail(f"{path}.{key} is not understood", f"{path}.{key}")

    def _check_layer_types(self, metadata: Mapping[str, Scalar]) -> None:
        value = self._get("layer_types")
        layers = metadata[self._map.key("{arch}.block_count")]
        pattern = self._map.layer_types
        if value is None:
            return
        assert isinstance(layers, int)
        if not isinstance(value, list) or len(value) != layers:
            self._fail(f"layer_types is not a list of {layers} kinds", "layer_types")
        for layer, kind in enumerate(value):
            wanted = pattern[layer % len(pattern)]
            if kind != wanted:
                self._fail(f"layer {layer} is {kind!r}, not {wanted!r}", "layer_types")

    def _tied(self) -> bool:
        if self._values.get("tie_word_embeddings") is None and self._inside:
            whole = self._document.values.get("tie_word_embeddings")
            if isinstance(whole, bool):
                return whole
        return self._flag("tie_word_embeddings", default=self._map.tied)


def _upwards(path: str) -> Iterator[str]:
    """`a.b.c` → `a.b.c`, `a.b`, `a`."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _same(value: Any, good: Any) -> bool:
    """Equal, and not a truth value on one side and a number on the other."""
    return isinstance(value, bool) == isinstance(good, bool) and bool(value == good)
