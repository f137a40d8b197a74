"""What every kind of model file says about a tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Scalar = int | float | bool | str
Value = Scalar | list[int] | list[float] | list[bool] | list[str]
"""A value of a model's metadata."""


@dataclass(frozen=True)
class TensorFormat:
    """How a tensor stores values: `block` values in `bytes` bytes; `type_id` is GGUF's number."""

    name: str
    type_id: int
    block: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: `shape` row-major, `offset` from the start of the file numbered `file`."""

    name: str
    shape: tuple[int, ...]
    format: TensorFormat
    offset: int
    nbytes: int
    file: int = 0


class Checkpoint(Protocol):
    """A model on disk, whatever its form, with the metadata keys and tensor names of GGUF."""

    @property
    def path(self) -> Path:
        """The file or folder."""

    @property
    def metadata(self) -> Mapping[str, Value]:
        """Architecture, hyper-parameters, tokenizer and chat template."""

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """Every tensor by name."""

    def data(self, tensor: Tensor) -> memoryview:
        """The bytes of a tensor of this checkpoint, read-only."""
