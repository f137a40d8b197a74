"""safetensors files and shards: what they hold, and everything that can be wrong with them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hf_folder import FORMATS, safetensors_bytes, with_header

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.models.safetensors import SafetensorsFile, read_safetensors, read_sharded

A = ("F32", (2, 3), struct.pack("<6f", *range(6)))
B = ("BF16", (4,), bytes(range(8)))


def read(tmp_path: Path, content: bytes) -> SafetensorsFile:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    return read_safetensors(path, FORMATS)


def message(tmp_path: Path, content: bytes) -> str:
    with pytest.raises(DiagnosticError) as caught:
        read(tmp_path, content)
    text = str(caught.value)
    assert text.startswith(f"{tmp_path}/x.safetensors: ")
    return text


def entry(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}


def file_of(header: object, data: bytes = bytes(8)) -> bytes:
    return with_header(json.dumps(header).encode(), data)


def test_tensors_and_their_bytes(tmp_path: Path) -> None:
    file = read(tmp_path, safetensors_bytes({"a": A, "b.c": B}, {"format": "pt"}))
    assert list(file.tensors) == ["a", "b.c"]
    a, b = file.tensors.values()
    assert (a.shape, a.format.name, b.shape, b.format.name) == ((2, 3), "f32", (4,), "bf16")
    assert (bytes(file.data(a)), bytes(file.data(b))) == (A[2], B[2])
    assert file.data(a).readonly


def test_the_order_of_the_header_is_free(tmp_path: Path) -> None:
    header = {
        "late": entry(data_offsets=[8, 16]),
        "early": entry(),
    }
    file = read(tmp_path, file_of(header, bytes(range(16))))
    assert bytes(file.data(file.tensors["early"])) == bytes(range(8))
    assert bytes(file.data(file.tensors["late"])) == bytes(range(8, 16))


def test_names_may_be_escaped(tmp_path: Path) -> None:
    file = read(tmp_path, with_header(json.dumps({"\u00e9\u2603": entry()}).encode(), bytes(8)))
    assert list(file.tensors) == ["é☃"]


def test_no_tensors(tmp_path: Path) -> None:
    assert read(tmp_path, safetensors_bytes({})).tensors == {}


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"a": entry(dtype="F8_E4M3", shape=[8])}, "has the unsupported dtype F8_E4M3"),
        ({"a": entry(dtype="I64", shape=[1])}, "has the unsupported dtype I64"),
        ({"a": entry(dtype="Q4_1")}, "has the unknown dtype 'Q4_1'"),
        ({"a": entry(dtype=["F32"])}, "has the unknown dtype"),
        ({"a": entry(shape=[3])}, "takes 12 bytes, its data_offsets span 8"),
        ({"a": entry(shape=[2, 0])}, "has a dimension of size 0"),
        ({"a": entry(shape=[-2])}, "has no shape of at most 8 dimensions"),
        ({"a": entry(shape=[1] * 9)}, "has no shape of at most 8 dimensions"),
        ({"a": entry(shape=[True, 2])}, "has no shape"),
        ({"a": entry(shape=[2.0])}, "has no shape"),
        ({"a": entry(shape=2)}, "has no shape"),
        ({"a": entry(shape=[2**63])}, "has no shape"),
        ({"a": entry(data_offsets=[0])}, "has no two data_offsets"),
        ({"a": entry(data_offsets=[8, 0])}, "its data_offsets span -8"),
        ({"a": entry(data_offsets=[8, 16])}, "ends at byte 88, past the end of the file"),
        ({"a": entry(), "b": entry()}, "tensors 'a' and 'b' overlap"),
        ({"a": entry(shape=[1], data_offsets=[0, 4])}, "bytes that belong to no tensor"),
        ({"a": entry(shape=[1], data_offsets=[4, 8])}, "bytes that belong to no tensor"),
        ({}, "bytes that belong to no tensor"),
        ({"a": entry(more=1)}, "does not have just a dtype"),
        ({"a": []}, "does not have just a dtype"),
        ({"": entry()}, "is no tensor name"),
        ({"a\n": entry()}, "is no tensor name"),
        ({"a\ud800": entry()}, "is no tensor name"),
        ({"a" * 513: entry()}, "is no tensor name"),
        ({"a": entry(shape=list(range(100)))}, "too many values"),
        ({"__metadata__": {"format": 1}, "a": entry()}, "the value of 'format' must be a string"),
        ({"__metadata__": "pt", "a": entry()}, "the metadata must be an object"),
        ([], "the header is no JSON object"),
    ],
)
def test_wrong_headers(tmp_path: Path, header: object, words: str) -> None:
    text = message(tmp_path, file_of(header))
    assert words in text
    assert "(at byte " in text


def test_a_gap_between_tensors(tmp_path: Path) -> None:
    header = {
        "a": entry(shape=[1], data_offsets=[0, 4]),
        "b": entry(shape=[1], data_offsets=[8, 12]),
    }
    text = message(tmp_path, file_of(header, bytes(12)))
    assert "tensors 'a' and 'b' have a gap" in text


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (b'{"a":1,"a":2}', "does not have just a dtype"),
        (b'{"__metadata__":{"a":"1","a":"2"}}', "the key 'a' occurs twice"),
        (b'{"a":{"dtype":"F32","dtype":"F32"}}', "the key 'dtype' occurs twice"),
        (b'{"a":' + b"[" * 40 + b"}", "too many values"),
        (b'{"a":NaN}', "is no JSON value"),
        (b'{"a":"\xff"}', "is not valid text"),
        (b'{"a":"\\x"}', "is not valid text"),
        (b'{"a', "a key must be a string here"),
        (b'{"a":' + b"1" * 65 + b"}", "a number has 65 characters"),
        (b"{} x", "there is more after the end"),
        (b'{"__metadata__":{}', "a comma or a closing brace must be here"),
        (b'{"a":{"shape":[1 2]}}', "a comma or a closing bracket must be here"),
        (b'{"a":}', "a value is missing here"),
        (b'{"a"', "a colon must be here"),
    ],
)
def test_wrong_json(tmp_path: Path, header: bytes, words: str) -> None:
    assert words in message(tmp_path, with_header(header, b""))


def test_not_a_file_of_this_kind(tmp_path: Path) -> None:
    assert "it has 7 bytes" in message(tmp_path, bytes(7))
    assert "the header takes 9 bytes, and 0 are left" in message(tmp_path, struct.pack("<Q", 9))
    assert "the header takes" in message(tmp_path, b"\xff" * 100)


def test_every_cut_is_an_error(tmp_path: Path) -> None:
    whole = safetensors_bytes({"a": A, "b": B})
    for size in range(len(whole)):
        message(tmp_path, whole[:size])
    message(tmp_path, whole + b"\0")


def shards(tmp_path: Path, weight_map: dict[str, Any], **files: dict[str, Any]) -> Path:
    for name, tensors in files.items():
        (tmp_path / f"{name}.safetensors").write_bytes(safetensors_bytes(tensors))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}))
    return index


def test_shards(tmp_path: Path) -> None:
    where = {"a": "one.safetensors", "b": "two.safetensors", "c": "one.safetensors"}
    index = shards(tmp_path, where, one={"a": A, "c": B}, two={"b": B})
    file = read_sharded(index, FORMATS)
    assert {name: bytes(file.data(tensor)) for name, tensor in file.tensors.items()} == {
        "a": A[2],
        "b": B[2],
        "c": B[2],
    }
    assert [path.name for path in file.files] == ["one.safetensors", "two.safetensors"]


@pytest.mark.parametrize(
    ("weight_map", "words"),
    [
        (
            {"a": "one.safetensors", "c": "two.safetensors"},
            "for which model.safetensors.index.json names no file",
        ),
        (
            {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"},
            "for which model.safetensors.index.json names another file",
        ),
        (
            {"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"},
            "has no tensor 'c'",
        ),
        ({"a": "three.safetensors"}, "cannot be read: No such file"),
        ({"a": "../one.safetensors"}, "is no file name"),
        ({"a": ".."}, "is no file name"),
        ({"a": 1}, "the file of 'a' must be a string"),
        ({}, "names no tensor"),
    ],
)
def test_wrong_shards(tmp_path: Path, weight_map: dict[str, Any], words: str) -> None:
    index = shards(tmp_path, weight_map, one={"a": A}, two={"b": B})
    with pytest.raises(DiagnosticError) as caught:
        read_sharded(index, FORMATS)
    assert words in str(caught.value)
    assert str(tmp_path) in str(caught.value)
