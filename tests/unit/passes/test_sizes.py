"""Bytes of streams, slabs and buffers, counted another way."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st
from tiny_pipeline import tiny_stages
from xdsl.dialects.builtin import Float16Type, Float32Type, IntegerAttr, TensorType, f32

from metainfer.ir.dialects import infer
from metainfer.ir.dims import tensor
from metainfer.ir.symbols import all_of, lookup
from metainfer.passes.sizes import (
    ALIGN,
    align,
    buffer_bytes,
    key_bytes,
    pack_streams,
    state_bytes,
    stream_bytes,
)

sizes_ = st.integers(1, 400)


@given(st.integers(0, 10**6), st.sampled_from([1, 16, 64]))
def test_align_is_the_next_multiple(offset: int, to: int) -> None:
    found = align(offset, to)
    assert found % to == 0 and offset <= found < offset + to


@given(sizes_, st.integers(1, 12), st.sampled_from(["f32", "q4_1", "q8_0"]))
def test_streams_hold_every_block_of_whole_groups_of_rows(
    rows: int, blocks: int, name: str
) -> None:
    format_ = lookup(tiny_stages().after("resolve-model"), name, infer.FormatOp)
    found = stream_bytes(rows, blocks * format_.block.value.data, format_, 16)
    assert list(found) == [f.data for f in format_.fields]
    groups = (rows + 15) // 16
    assert sum(found.values()) == groups * 16 * blocks * format_.bytes.value.data


def test_streams_of_a_pack_do_not_overlap() -> None:
    module = tiny_stages().after("select-layouts")
    for weight in all_of(module, infer.WeightOp):
        offsets, size = pack_streams(weight, module)
        if weight.type.get_num_dims() == 1:
            assert (offsets, size) == ({"w": 0}, align(4 * prod(weight.type.get_shape())))
            continue
        rows, cols = weight.type.get_shape()
        element = weight.type.element_type
        assert isinstance(element, infer.QuantType)
        needs = stream_bytes(rows, cols, lookup(module, element.format.data, infer.FormatOp), 16)
        end = 0
        for field, offset in offsets.items():
            assert offset == end and offset % ALIGN == 0
            end = align(offset + needs[field])
        assert size == end


@given(st.integers(1, 3000), st.booleans())
def test_slabs_are_whole_blocks_of_keys_then_values(context: int, half: bool) -> None:
    (state,) = all_of(tiny_stages().after("select-layouts"), infer.StateOp)
    element = Float16Type() if half else Float32Type()
    state.properties["k"] = state.properties["v"] = TensorType(element, [3, 20])
    state.properties["room"] = IntegerAttr(context, 64)
    room, width = -(-context // 16) * 16, 2 if half else 4
    assert key_bytes(state) == room * 3 * 20 * width
    assert state_bytes(state) == align(2 * room * 3 * 20 * width)


@given(sizes_, sizes_, st.integers(1, 9))
def test_buffers_have_room_for_the_largest_batch(first: int, width: int, fewest: int) -> None:
    ranges = {"tokens": (min(fewest, first), first), "seqs": (1, 2)}
    assert buffer_bytes(tensor(f32, "tokens", width), ranges) == align(4 * first * width)
    assert buffer_bytes(tensor(f32, "seqs", width), ranges) == align(8 * width)
