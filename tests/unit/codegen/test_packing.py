"""Packed weights: every stored byte at the place that the layout's definition gives it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import program_of
from tiny_pipeline import tiny_stages
from xdsl.dialects.builtin import IntegerAttr

from metainfer.codegen.host.emit import WEIGHTS_HEADER_BYTES
from metainfer.codegen.packing import field_shape, pack_weight
from metainfer.codegen.weights import packed_file, place, weights_id
from metainfer.ir.dialects import engine, infer
from metainfer.ir.symbols import lookup
from metainfer.passes.resolve_model import open_model
from metainfer.passes.sizes import stream_bytes


def element(
    stream: np.ndarray[tuple[int], np.dtype[np.uint8]],
    at: tuple[int, int, int],
    sizes: tuple[int, ...],
) -> bytes:
    """Element e of block b of row r, by `[r / 16][b][e][r % 16]`, spelled out."""
    row, block, index = at
    blocks, count, width = sizes
    number = ((row // 16 * blocks + block) * count + index) * 16 + row % 16
    return stream[number * width : (number + 1) * width].tobytes()


@settings(max_examples=30)
@given(
    st.sampled_from(["f32", "q4_1", "q8_0"]),
    st.integers(1, 40),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_each_element_lies_where_the_layout_says(
    name: str, rows: int, blocks: int, seed: int
) -> None:
    format_ = lookup(tiny_stages().after("resolve-model"), name, infer.FormatOp)
    stored = format_.bytes.value.data
    raw = np.random.default_rng(seed).integers(0, 256, (rows, blocks, stored), np.uint8)
    cols = blocks * format_.block.value.data
    streams = pack_weight(raw.tobytes(), rows, cols, format_, 16)
    assert {f: s.size for f, s in streams.items()} == stream_bytes(rows, cols, format_, 16)
    start = 0
    for field, argument in zip(format_.fields, format_.decode.block.args, strict=True):
        count, width = field_shape(argument.type)
        for row in range(-(-rows // 16) * 16):
            for block in range(blocks):
                for index in range(count):
                    at = start + index * width
                    wanted = bytes(width)
                    if row < rows:
                        wanted = raw[row, block, at : at + width].tobytes()
                    sizes = (blocks, count, width)
                    assert element(streams[field.data], (row, block, index), sizes) == wanted
        start += count * width


def test_the_packed_file_holds_every_weight_of_every_layer(tiny_cache: Path) -> None:
    stages = tiny_stages()
    module = stages.after("plan-memory")
    program, model = program_of(module), open_model(module, stages.ctx)
    done: list[tuple[int, int]] = []
    path = packed_file(program, module, model, "ab" * 32, lambda *state: done.append(state))
    data = np.fromfile(path, np.uint8)
    assert program.weights is not None
    assert data.size == WEIGHTS_HEADER_BYTES + program.weights.value.data
    assert done == sorted(done) and done[-1][0] == done[-1][1] == program.weights.value.data
    packs = [op for op in program.body.block.ops if isinstance(op, engine.PackOp)]
    seen = set()
    for pack in packs:
        weight = lookup(module, pack.sym_name.data, infer.WeightOp)
        for number, layer in enumerate(weight.layers or [None]):
            start = WEIGHTS_HEADER_BYTES + pack.offset.value.data + number * pack.bytes.value.data
            raw = bytes(model.data(model.tensors[weight.tensor_name(layer)]))
            seen.add(weight.tensor_name(layer))
            shape = weight.type.get_shape()
            if len(shape) == 1:
                assert data[start : start + len(raw)].tobytes() == raw
                continue
            element_type = weight.type.element_type
            assert isinstance(element_type, infer.QuantType)
            format_ = lookup(module, element_type.format.data, infer.FormatOp)
            rows, cols = shape
            for field, stream in pack_weight(raw, rows, cols, format_, 16).items():
                offset = pack.streams.data[field]
                assert isinstance(offset, IntegerAttr)
                at = start + offset.value.data
                assert np.array_equal(data[at : at + stream.size], stream)
    assert seen == set(model.tensors)
    assert len(seen) == 20


def test_packing_is_done_once(tiny_cache: Path) -> None:
    stages = tiny_stages()
    module = stages.after("plan-memory")
    program, model = program_of(module), open_model(module, stages.ctx)
    first = packed_file(program, module, model, "cd" * 32)
    stamp = first.stat().st_mtime_ns
    assert packed_file(program, module, model, "cd" * 32) == first
    assert first.stat().st_mtime_ns == stamp
    first.write_bytes(b"cut short")
    again = packed_file(program, module, model, "cd" * 32)
    assert again.stat().st_size > 1000


class _Interrupted(Exception):
    pass


def test_an_interrupt_leaves_nothing(tiny_cache: Path) -> None:
    stages = tiny_stages()
    module = stages.after("plan-memory")

    def stop(done: int, total: int) -> None:
        raise _Interrupted

    model = open_model(module, stages.ctx)
    with pytest.raises(_Interrupted):
        packed_file(program_of(module), module, model, "ef" * 32, stop)
    assert [p.name for p in (tiny_cache / "weights").iterdir() if "ef" * 32 in p.name] == []
    assert [p.name for p in (tiny_cache / "weights").glob(".packing*")] == []


def test_the_id_of_weights_follows_model_layout_and_place() -> None:
    module = tiny_stages().after("plan-memory")
    program = program_of(module)
    identity = weights_id(program, module, "aa")
    assert weights_id(program, module, "aa") == identity
    assert weights_id(program, module, "ab") != identity
    pack = next(op for op in program.body.block.ops if isinstance(op, engine.PackOp))
    pack.properties["offset"] = IntegerAttr(64, 64)
    assert weights_id(program, module, "aa") != identity


def test_a_packed_file_is_linked_or_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "packed"
    packed.write_bytes(b"weights")
    place(packed, tmp_path / "linked")
    assert (tmp_path / "linked").stat().st_ino == packed.stat().st_ino

    def refuse(*_: object) -> None:
        raise OSError("another file system")

    monkeypatch.setattr("os.link", refuse)
    place(packed, tmp_path / "copied")
    assert (tmp_path / "copied").read_bytes() == b"weights"
    assert (tmp_path / "copied").stat().st_ino != packed.stat().st_ino
