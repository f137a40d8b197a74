"""The GGUF reader against the `gguf` package, and against files that are wrong in one place."""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models.gguf import GgufFile, TensorFormat, read_gguf

Formats = dict[int, TensorFormat]


def _add_every_kind(writer: gguf.GGUFWriter) -> None:
    kinds = gguf.GGUFValueType
    for number, (kind, value) in enumerate(
        [
            (kinds.UINT8, 255), (kinds.INT8, -128), (kinds.UINT16, 65535), (kinds.INT16, -32768),
            (kinds.UINT32, 2**32 - 1), (kinds.INT32, -(2**31)), (kinds.UINT64, 2**64 - 1),
            (kinds.INT64, -(2**63)), (kinds.FLOAT32, 1e-5), (kinds.FLOAT64, 1e-5),
            (kinds.BOOL, True), (kinds.BOOL, False), (kinds.STRING, "grüße 🙂"),
        ]
    ):  # fmt: skip
        writer.add_key_value(f"scalar.{number}", value, kind)
    for number, items in enumerate([[1, -2, 3], [0.5, 1e-3], [True, False], ["a", "", "🙂"]]):
        writer.add_array(f"array.{number}", items)


def _write(path: Path, alignment: int | None = None) -> bytes:
    rng = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "llama")
    if alignment:
        writer.add_custom_alignment(alignment)
    _add_every_kind(writer)
    weights = rng.standard_normal((4, 64), dtype=np.float32)
    for name, kind in [("a.weight", "Q4_1"), ("b.weight", "Q8_0"), ("c.weight", "F32")]:
        form = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, gguf.quantize(weights, form), raw_dtype=form)
    writer.add_tensor("norm", rng.standard_normal(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return _write(tmp_path_factory.mktemp("gguf") / "good.gguf")


@pytest.fixture
def load(tmp_path: Path, formats: Formats) -> Callable[[bytes], GgufFile]:
    path = tmp_path / "model.gguf"

    def write_and_read(content: bytes) -> GgufFile:
        # A new file each time: one that is mapped must not be cut.
        path.unlink(missing_ok=True)
        path.write_bytes(content)
        return read_gguf(path, formats)

    return write_and_read


@pytest.mark.parametrize("alignment", [None, 8, 64, 4096])
def test_equals_the_gguf_package(tmp_path: Path, formats: Formats, alignment: int | None) -> None:
    path = tmp_path / "model.gguf"
    _write(path, alignment)
    ours, theirs = read_gguf(path, formats), gguf.GGUFReader(path)

    stored = {k: f.contents() for k, f in theirs.fields.items() if not k.startswith("GGUF.")}
    assert ours.metadata == stored
    assert {k: type(v) for k, v in ours.metadata.items()} == {k: type(v) for k, v in stored.items()}
    assert ours.version == 3
    assert list(ours.tensors) == [tensor.name for tensor in theirs.tensors]
    for tensor in theirs.tensors:
        mine = ours.tensors[tensor.name]
        assert mine.shape == tuple(int(size) for size in reversed(tensor.shape))
        assert mine.format.type_id == tensor.tensor_type
        assert mine.offset == tensor.data_offset
        assert bytes(ours.data(mine)) == tensor.data.tobytes()


def test_data_is_read_only(load: Callable[[bytes], GgufFile], good: bytes) -> None:
    file = load(good)
    assert file.data(file.tensors["norm"]).readonly


def test_version_2_has_the_same_layout(load: Callable[[bytes], GgufFile], good: bytes) -> None:
    file = load(good[:4] + struct.pack("<I", 2) + good[8:])
    assert file.version == 2
    assert file.metadata == load(good).metadata


def test_every_truncation_is_one_error(load: Callable[[bytes], GgufFile], good: bytes) -> None:
    for size in range(len(good)):
        with pytest.raises(DiagnosticError) as caught:
            load(good[:size])
        assert len(caught.value.diagnostics) == 1
        assert "model.gguf" in str(caught.value)


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_mutants_load_or_fail_cleanly(
    load: Callable[[bytes], GgufFile], good: bytes, data: st.DataObject
) -> None:
    header = st.integers(0, good.index(b"norm") + 40)
    content = bytearray(good)
    for position in data.draw(st.lists(header, min_size=1, max_size=4)):
        content[position] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 255])))
    try:
        file = load(bytes(content))
    except DiagnosticError as problem:
        assert "byte" in str(problem)
        return
    for tensor in file.tensors.values():
        assert len(file.data(tensor)) == tensor.nbytes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: setattr(r, "magic", b"GGML"), "not a GGUF file: it starts with b'GGML'"),
        (lambda r: setattr(r, "version", 1), "GGUF version 1 is not supported"),
        (lambda r: setattr(r, "version", 3 << 24), "big-endian GGUF is not supported"),
        (lambda r: setattr(r, "pair_count", 2**63), "metadata pairs do not fit into the file"),
        (lambda r: setattr(r, "tensor_count", 2**40), "tensors do not fit into the file"),
        (lambda r: r.pair(b"", 4, bytes(4)), "a metadata key has 0 bytes"),
        (lambda r: r.pair(b"\xff", 4, bytes(4)), "a metadata key is not UTF-8"),
        (lambda r: r.pair(b"a\n", 4, bytes(4)), "unprintable"),
        (lambda r: r.pair(b"k" * 65536, 4, bytes(4)), "allowed are 1 to 65,535"),
        (lambda r: r.pair(b"k", 4, bytes(4)).pair(b"k", 4, bytes(4)), "'k' occurs twice"),
        (lambda r: r.pair(b"k", 13, bytes(4)), "the unknown type 13"),
        (lambda r: r.pair(b"k", 7, b"\2"), "a truth value other than 0 and 1"),
        (lambda r: r.pair(b"k", 8, r.string(b"x", 2**64 - 1)), "bytes, and"),
        (lambda r: r.pair(b"k", 8, r.string(b"\xc3")), "is not UTF-8"),
        (lambda r: r.array(b"k", 9, 1, bytes(12)), "an array of arrays"),
        (lambda r: r.array(b"k", 99, 1, b""), "the unknown element type 99"),
        (lambda r: r.array(b"k", 12, 2**61, b""), "bytes, and"),
        (lambda r: r.array(b"k", 8, 2**61, b""), "bytes, and"),
        (lambda r: r.array(b"k", 7, 2**64 - 1, b""), "bytes, and"),
        (lambda r: r.array(b"k", 8, 2, r.string(b"a") + r.string(b"\xff")), "string 1 of"),
        (lambda r: r.array(b"k", 8, 2, r.string(b"a") + r.string(b"", 999)), "string 1 of"),
        (lambda r: r.pair(b"general.alignment", 4, struct.pack("<I", 24)), "not a power of two"),
        (lambda r: r.pair(b"general.alignment", 4, bytes(4)), "not a power of two"),
        (lambda r: r.pair(b"general.alignment", 5, struct.pack("<i", -8)), "not a power of two"),
        (lambda r: r.pair(b"general.alignment", 7, b"\1"), "not a power of two"),
        (lambda r: r.pair(b"general.alignment", 8, r.string(b"32")), "not a power of two"),
        (lambda r: r.tensor(b"", [1]), "a tensor name has 0 bytes"),
        (lambda r: r.tensor(b"t" * 65, [1]), "allowed are 1 to 64"),
        (lambda r: r.tensor(b"t", []), "0 dimensions, allowed are 1 to 4"),
        (lambda r: r.tensor(b"t", [1] * 5), "5 dimensions, allowed are 1 to 4"),
        (lambda r: r.tensor(b"t", [4, 0]), "a dimension of size 0"),
        (lambda r: r.tensor(b"t", [256], 12), "'t' has the unsupported type 12"),
        (lambda r: r.tensor(b"t", [48], 3), "not a multiple of the 32 in a block of q4_1"),
        (lambda r: r.tensor(b"t", [4], 0, 16), "not aligned to 32"),
        (lambda r: r.tensor(b"t", [2**63, 2**63]), "past the end of the file"),
        (lambda r: r.tensor(b"t", [64], 0, 2**63), "past the end of the file"),
        (lambda r: r.tensor(b"t", [4]).tensor(b"t", [4], 0, 32), "'t' occurs twice"),
        (lambda r: r.tensor(b"t", [9]).tensor(b"u", [4], 0, 32), "'t' and 'u' overlap"),
    ],
)
def test_one_wrong_field(
    load: Callable[[bytes], GgufFile], raw: Any, change: Callable[[Any], object], message: str
) -> None:
    raw.data = bytes(128)
    change(raw)
    with pytest.raises(DiagnosticError, match=r"model\.gguf") as caught:
        load(bytes(raw))
    assert message in str(caught.value)
    assert "at byte" in str(caught.value)


def test_the_unchanged_file_of_the_table_loads(load: Callable[[bytes], GgufFile], raw: Any) -> None:
    raw.data = bytes(128)
    raw.tensor(b"t", [8]).tensor(b"u", [4], 0, 32)
    assert list(load(bytes(raw)).tensors) == ["t", "u"]


def test_an_unsupported_type_lists_the_known(load: Callable[[bytes], GgufFile], raw: Any) -> None:
    raw.tensor(b"t", [256], 12)
    with pytest.raises(DiagnosticError) as caught:
        load(bytes(raw))
    assert caught.value.diagnostics[0].help == "supported types: f32 (0), q4_1 (3), q8_0 (8)"


def test_a_tiny_file_with_huge_counts_costs_nothing(
    load: Callable[[bytes], GgufFile], raw: Any
) -> None:
    raw.array(b"k", 8, 2**60, b"")
    raw.alignment = 1
    content = bytes(raw)
    assert len(content) == 49
    tracemalloc.start()
    with pytest.raises(DiagnosticError):
        load(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "empty"])
def test_what_is_no_file(tmp_path: Path, formats: Formats, kind: str) -> None:
    path = tmp_path / "model.gguf"
    make = {"folder": path.mkdir, "fifo": lambda: os.mkfifo(path), "empty": path.touch}
    make.get(kind, lambda: None)()
    with pytest.raises(DiagnosticError, match=r"model\.gguf"):
        read_gguf(path, formats)
