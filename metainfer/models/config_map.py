"""How a Hugging Face folder of one model type reads in GGUF's words: `ckb/config_map/*/map.yaml`.

A map is data: for each metadata key of GGUF the places in `config.json` that may hold it, for each
tensor its GGUF name and what the converter does to it, and what must hold for the map to be true.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from metainfer.ir.diagnostics import Note, error


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class MetadataRule(_Strict):
    """Where a metadata key's value stands in `config.json`; members of objects with dots."""

    # `from` is a Python word, so the field cannot have that name.
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=lambda name: name.removesuffix("_")
    )

    from_: tuple[str, ...]
    """All spellings, old and new; where several are given, they must agree."""
    type_: Literal["int", "float", "text"]
    otherwise: str | None = None
    """Read this instead where no spelling is given."""
    default: int | float | None = None
    """What transformers assumes where none is given."""
    optional: bool = False
    absent: tuple[str, ...] = ()
    """Values that mean the same as none."""
    when: str | None = None
    """Counts only where this is true."""


class Expectation(_Strict):
    """What a value must be for the map to hold."""

    one_of: tuple[bool | int | float | str, ...] = ()
    same_as: str | None = None
    """A metadata key whose value it must equal."""
    default: bool | int | float | str | None = None
    """What transformers assumes where it is not given; None: nothing to check then."""


class TensorRule(_Strict):
    """A tensor's GGUF name, and how its values or rows differ there."""

    to: str
    plus: float | None = None
    """Added to every value."""
    pair_rows_of: str | None = None
    """Metadata key of a number of heads: in each, rows i and i + half become neighbours."""
    head: bool = False
    """The output matrix: not used where it is tied to the embeddings."""


class ConfigMap(_Strict):
    """One map, with the header of every contract."""

    id: str
    kind: Literal["config_map"]
    layer: Literal["family"]
    version: int
    why: str
    sources: tuple[str, ...] = ()
    arch: str
    """Value of `general.architecture`."""
    model_type: tuple[str, ...]
    containers: dict[str, str] = {}
    """Model types that hold this one's config in a member."""
    architectures: tuple[str, ...]
    metadata: dict[str, MetadataRule]
    """By metadata key, where `{arch}` stands for `arch`."""
    expect: dict[str, Expectation] = {}
    closed: dict[str, str] = {}
    """Objects whose members must all be named here, unless that metadata key has a value."""
    layer_types: tuple[str, ...] = ("full_attention",)
    """Kinds of consecutive layers, repeated over the depth."""
    tied: bool
    """transformers' default of `tie_word_embeddings`."""
    prefixes: dict[str, str] = {}
    """Beginnings of tensor names and what stands for them in `tensors`."""
    tensors: dict[str, TensorRule]
    ignore: tuple[str, ...] = ()
    """Tensors that the text model does not use; `{any}` matches the rest of a name."""

    def key(self, pattern: str) -> str:
        """A metadata key with the architecture put in."""
        return pattern.replace("{arch}", self.arch)


def parse_config_map(document: Any, name: str) -> ConfigMap:
    """The map in a loaded YAML document; `name` names it in errors."""
    try:
        return ConfigMap.model_validate(document)
    except ValidationError as problem:
        notes = [
            Note(f"{'.'.join(map(str, item['loc'])) or 'contract'}: {item['msg']}")
            for item in problem.errors()
        ]
        raise error(f"{name}: not a valid config_map contract", notes=notes) from None
