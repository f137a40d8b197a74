"""A bounded reader for safetensors files, single or in shards, little-endian.

Layout (Hugging Face `safetensors`)::

    header size:u64   header: JSON object, may end in spaces   tensor data
    header: { "__metadata__": {string: string}, NAME: {"dtype", "shape", "data_offsets"} ... }

`data_offsets` are begin and end from the start of the data; the tensors must cover the data
without a gap, an overlap or a rest. A model in shards has an index beside them::

    { "metadata": {...}, "weight_map": { NAME: file name, ... } }

As in `gguf.py`, everything is checked against the bytes that are there before it is used, and what
is wrong ends in one `DiagnosticError` that names the file and the byte offset.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

from metainfer.ir.diagnostics import DiagnosticError, Note, error
from metainfer.models.json_reader import JsonReader
from metainfer.models.mapped import Budget, map_file
from metainfer.models.tensors import Tensor, TensorFormat

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"

_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4, "C64": 64,
}  # fmt: skip
_MAX_RANK = 8
_MAX_NAME = 512
_MAX_SIZE = 2**63
_MAX_SHARDS = 1000
_TENSOR_COST = 900
"""Bytes that one tensor takes in memory, rounded up, for the budget."""
_ENTRY_VALUES = 16
"""Values of a tensor's entry, at most: dtype, two offsets, the dimensions, and what holds them."""


@dataclass(frozen=True)
class SafetensorsFile:
    """The checked tensors of one file or of all shards; data stay mapped while this lives."""

    path: Path
    files: tuple[Path, ...]
    tensors: dict[str, Tensor]
    _maps: tuple[mmap.mmap, ...] = field(repr=False, compare=False)

    def data(self, tensor: Tensor) -> memoryview:
        """The stored bytes of a tensor, read-only and without a copy."""
        mapped = self._maps[tensor.file]
        return memoryview(mapped)[tensor.offset : tensor.offset + tensor.nbytes]


def read_safetensors(path: Path, formats: Mapping[int, TensorFormat]) -> SafetensorsFile:
    """Read one file. `formats` holds the formats that tensors may have, found by their names.

    Raises `DiagnosticError` for a file that cannot be read, breaks the layout, or has a tensor
    of another dtype.
    """
    mapped = map_file(path, 8, "safetensors")
    return SafetensorsFile(path, (path,), _Header(path, mapped, formats, 0).tensors(), (mapped,))


def read_sharded(index: Path, formats: Mapping[int, TensorFormat]) -> SafetensorsFile:
    """Read the shards that an index names; index and shards must name the same tensors."""
    files, weight_map = _read_index(index)
    tensors: dict[str, Tensor] = {}
    maps = [map_file(file, 8, "safetensors") for file in files]
    for number, (file, mapped) in enumerate(zip(files, maps, strict=True)):
        found = _Header(file, mapped, formats, number).tensors()
        for name in found:
            if weight_map.get(name) != number:
                said = "another file" if name in weight_map else "no file"
                raise error(f"{file}: holds tensor {name!r}, for which {index.name} names {said}")
        tensors |= found
    if missing := next((name for name in weight_map if name not in tensors), None):
        raise error(f"{files[weight_map[missing]]}: has no tensor {missing!r}, unlike {index.name}")
    return SafetensorsFile(index, files, tensors, tuple(maps))


class _Header:
    """Reads one file's header into tensors."""

    def __init__(
        self, path: Path, data: mmap.mmap, formats: Mapping[int, TensorFormat], number: int
    ) -> None:
        self._path = path
        self._size = len(data)
        self._number = number
        self._formats = {form.name: form for form in formats.values()}
        self._budget = Budget(self._size)
        (length,) = struct.unpack_from("<Q", data)
        if length > self._size - 8:
            raise self._failure(
                f"the header takes {length:,} bytes, and {self._size - 8:,} are left", 0
            )
        self._start = 8 + length
        self._reader = JsonReader(data, 8, self._start, self._failure)

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor by name, in the order of the header."""
        reader = self._reader
        if reader.peek() != b"{":
            reader.fail("not a safetensors file: the header is no JSON object")
        tensors: dict[str, Tensor] = {}
        for name, at in reader.members():
            if name == "__metadata__":
                self._skip_metadata()
                continue
            if not self._budget.spend(_TENSOR_COST):
                reader.fail(f"the tensors would take more than {self._budget.limit:,} bytes", at)
            if not 0 < len(name) <= _MAX_NAME or not name.isprintable():
                reader.fail(f"{name[:40]!r} is no tensor name", at)
            tensors[name] = self._tensor(name, at)
        reader.finish()
        self._check_cover(tensors)
        return tensors

    def _skip_metadata(self) -> None:
        if self._reader.peek() != b"{":
            self._reader.fail("the metadata must be an object")
        for key, at in self._reader.members():
            if not self._budget.spend(4 * len(key) + 200):
                self._reader.fail("the metadata are too long", at)
            self._reader.string(f"the value of {key!r}")

    def _tensor(self, name: str, at: int) -> Tensor:
        entry = self._reader.value(_ENTRY_VALUES)
        what = f"tensor {name!r}"
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            self._reader.fail(f"{what} does not have just a dtype, a shape and data_offsets", at)
        form = self._format(what, entry["dtype"], at)
        shape, offsets = entry["shape"], entry["data_offsets"]
        if not _naturals(shape) or len(shape) > _MAX_RANK:
            self._reader.fail(f"{what} has no shape of at most {_MAX_RANK} dimensions", at)
        if 0 in shape:
            self._reader.fail(f"{what} has a dimension of size 0", at)
        if not _naturals(offsets) or len(offsets) != 2:
            self._reader.fail(f"{what} has no two data_offsets", at)
        begin, end = offsets
        nbytes = prod(shape) * form.bytes
        if end - begin != nbytes:
            self._reader.fail(
                f"{what} of {form.name} and shape {shape} takes {nbytes:,} bytes, "
                f"its data_offsets span {end - begin:,}",
                at,
            )
        return Tensor(name, tuple(shape), form, self._start + begin, nbytes, self._number)

    def _format(self, what: str, dtype: Any, at: int) -> TensorFormat:
        if not isinstance(dtype, str) or dtype not in _BITS:
            self._reader.fail(f"{what} has the unknown dtype {dtype!r}", at)
        form = self._formats.get(dtype.lower())
        if form is None or form.block != 1 or form.bytes * 8 != _BITS[dtype]:
            names = [name for name in _BITS if name.lower() in self._formats]
            raise self._failure(
                f"{what} has the unsupported dtype {dtype}", at, f"supported: {', '.join(names)}"
            )
        return form

    def _check_cover(self, tensors: Mapping[str, Tensor]) -> None:
        """The data part is exactly the tensors, one after the other."""
        ordered = sorted(tensors.values(), key=lambda tensor: tensor.offset)
        first = ordered[0].offset if ordered else self._size
        last = ordered[-1].offset + ordered[-1].nbytes if ordered else self._start
        if last > self._size:
            raise self._failure(
                f"tensor {ordered[-1].name!r} ends at byte {last:,}, past the end of the file",
                self._start,
                "the file is damaged or cut short; fetch it again",
            )
        for before, after in pairwise(ordered):
            if (end := before.offset + before.nbytes) != after.offset:
                problem = "overlap" if end > after.offset else "have a gap between them"
                raise self._failure(
                    f"tensors {before.name!r} and {after.name!r} {problem}", after.offset
                )
        if first != self._start or last != self._size:
            raise self._failure("there are bytes that belong to no tensor", self._start)

    def _failure(self, what: str, at: int, help: str | None = None) -> DiagnosticError:
        return error(f"{self._path}: {what} (at byte {at:,} of {self._size:,})", help=help)


def _naturals(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value < _MAX_SIZE for value in values
    )


def _read_index(path: Path) -> tuple[tuple[Path, ...], dict[str, int]]:
    """The shards, and the number of its shard for each tensor."""
    mapped = map_file(path, 2, "safetensors index")

    def failure(what: str, at: int) -> DiagnosticError:
        return error(f"{path}: {what} (at byte {at:,} of {len(mapped):,})")

    reader = JsonReader(mapped, 0, len(mapped), failure)
    # The index of a large model is long, and small beside the model.
    budget = Budget(sum(file.stat().st_size for file in path.parent.glob("*.safetensors")))
    shards: dict[str, int] = {}
    weight_map: dict[str, int] = {}
    for key, _ in reader.members():
        if key != "weight_map":
            reader.value(1000)
            continue
        for name, at in reader.members():
            shard = reader.string(f"the file of {name!r}")
            weight_map[name] = shards.setdefault(shard, len(shards))
            if not budget.spend(4 * len(name) + 300) or len(shards) > _MAX_SHARDS:
                reader.fail("the index names too many tensors or files", at)
    reader.finish()
    if not weight_map:
        raise error(f"{path}: names no tensor", notes=[Note("looked for 'weight_map'")])
    for shard in shards:
        if shard in ("", ".", "..") or "/" in shard or "\\" in shard or not shard.isprintable():
            raise error(f"{path}: {shard!r} is no file name")
    return tuple(path.parent / shard for shard in shards), weight_map
