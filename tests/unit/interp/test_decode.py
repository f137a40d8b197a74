"""Decode regions: against the gguf package, and op by op against Python integers."""

from __future__ import annotations

from collections.abc import Callable

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from metainfer.interp.decode import TERMS, Roundings, decode_blocks, decode_matrix, roundings
from metainfer.interp.matrix import DecodeCache, QuantMatrix, chunks
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects.infer import FormatOp
from metainfer.ir.symbols import lookup

Parse = Callable[[str], ModuleOp]
finite_f16 = st.floats(width=16, allow_nan=False, allow_infinity=False)
blocks = st.lists(
    st.tuples(finite_f16, finite_f16, st.binary(min_size=32, max_size=32)), min_size=1, max_size=5
)


def scale(value: float) -> bytes:
    return np.float16(value).tobytes()


@given(blocks)
def test_q4_1_is_what_gguf_reads(parse: Parse, stored: list[tuple[float, float, bytes]]) -> None:
    raw = b"".join(scale(d) + scale(m) + qs[:16] for d, m, qs in stored)
    ours = decode_blocks(lookup(parse(""), "q4_1", FormatOp), raw, len(stored))
    theirs = gguf.dequantize(
        np.frombuffer(raw, np.uint8).reshape(-1, 20), gguf.GGMLQuantizationType.Q4_1
    )
    # d*q + m is exact in float64; gguf computes in float32, where only the sum rounds.
    assert (ours.astype(np.float32) == theirs).all()


@given(blocks)
def test_q8_0_is_what_gguf_reads(parse: Parse, stored: list[tuple[float, float, bytes]]) -> None:
    raw = b"".join(scale(d) + qs for d, _, qs in stored)
    ours = decode_blocks(lookup(parse(""), "q8_0", FormatOp), raw, len(stored))
    theirs = gguf.dequantize(
        np.frombuffer(raw, np.uint8).reshape(-1, 34), gguf.GGMLQuantizationType.Q8_0
    )
    assert (ours == theirs).all()


def one_field_format(parse: Parse, field: str, size: int, body: str) -> FormatOp:
    text = f"""
infer.format @t attributes {{block = 4, bytes = {size}, contract = "t", fields = ["x"], \
hash = "", type_id = 9}} {{
^bb0(%x: {field}):
{body}
}}"""
    return lookup(parse(text), "t", FormatOp)


def signed(x: int, width: int) -> int:
    return x - (1 << width) if x >= 1 << (width - 1) else x


INTEGER_OPS: dict[str, Callable[[int, int, int], int]] = {
    "andi": lambda x, y, _: x & y,
    "ori": lambda x, y, _: x | y,
    "xori": lambda x, y, _: x ^ y,
    "addi": lambda x, y, _: x + y,
    "subi": lambda x, y, _: x - y,
    "muli": lambda x, y, _: x * y,
    "shli": lambda x, y, _: x << y,
    "shrui": lambda x, y, _: x >> y,
    "shrsi": lambda x, y, width: signed(x, width) >> y,
}


@pytest.mark.parametrize("name", INTEGER_OPS)
@pytest.mark.parametrize("width", [8, 32])
def test_integer_op(parse: Parse, name: str, width: int) -> None:
    shift = name.startswith("sh")
    constants = [0, 1, 5, 7] if shift else [3, -2, 100, 127]
    body = f"""
  %c = arith.constant dense<{constants}> : vector<4xi{width}>
  %y = arith.{name} %x, %c : vector<4xi{width}>
  %u = infer.cast %y : vector<4xf32>
  infer.decoded %u"""
    format_ = one_field_format(parse, f"vector<4xi{width}>", width // 2, body)
    stored = np.random.default_rng(1).integers(0, 2**width, (9, 4)).astype(f"<u{width // 8}")
    expected = [
        [
            INTEGER_OPS[name](int(x), c % 2**width, width) % 2**width
            for x, c in zip(row, constants, strict=True)
        ]
        for row in stored
    ]
    assert decode_blocks(format_, stored.tobytes(), 9).tolist() == expected


def test_sign_extension_then_float(parse: Parse) -> None:
    body = """
  %wide = infer.cast %x {signed} : vector<4xi32>
  %three = arith.constant dense<3> : vector<4xi32>
  %y = arith.muli %wide, %three : vector<4xi32>
  %f = infer.cast %y {signed} : vector<4xf32>
  infer.decoded %f"""
    format_ = one_field_format(parse, "vector<4xi8>", 4, body)
    assert decode_blocks(format_, bytes([0, 1, 128, 255]), 1).tolist() == [[0, 3, -384, -3]]


def test_prefix_shapes_repeat_and_blocks_flatten(parse: Parse) -> None:
    body = """
  %f = infer.cast %x : vector<2x2xf32>
  %c = arith.constant dense<[[0.0, 0.5], [0.25, 0.0]]> : vector<2x2xf32>
  %y = arith.subf %f, %c : vector<2x2xf32>
  infer.decoded %y"""
    format_ = one_field_format(parse, "vector<2xi8>", 2, body)
    expected = [[1, 0.5, 1.75, 2], [7, 6.5, 8.75, 9]]
    assert decode_blocks(format_, bytes([1, 2, 7, 9]), 2).tolist() == expected
    terms = [[1, 1.5, 2.25, 2], [7, 7.5, 9.25, 9]]
    assert decode_blocks(format_, bytes([1, 2, 7, 9]), 2, TERMS).tolist() == terms


def test_bf16_fields(parse: Parse) -> None:
    body = "  %f = infer.cast %x : vector<4xf32>\n  infer.decoded %f"
    format_ = one_field_format(parse, "vector<4xbf16>", 8, body)
    stored = np.array([1.5, -2.0, 2.0**-130, 3e38], np.float32).view(np.uint32) >> 16
    decoded = decode_blocks(format_, stored.astype("<u2").tobytes(), 1)
    assert decoded.tolist() == (stored << 16).astype(np.uint32).view(np.float32)[None].tolist()


def test_terms_keep_scale_and_minimum_apart(parse: Parse) -> None:
    format_ = lookup(parse(""), "q4_1", FormatOp)
    raw = scale(0.5) + scale(-3.0) + bytes([0x6F] * 16)
    assert decode_blocks(format_, raw, 1)[0, [0, 16]].tolist() == [4.5, 0.0]
    assert decode_blocks(format_, raw, 1, TERMS)[0, [0, 16]].tolist() == [10.5, 6.0]


def test_terms_of_plain_floats_are_their_magnitudes(parse: Parse) -> None:
    format_ = lookup(parse(""), "f32", FormatOp)
    raw = np.array([1.5, -2.5], "<f4").tobytes()
    assert decode_matrix(format_, raw, 1, 2).tolist() == [[1.5, -2.5]]
    assert decode_matrix(format_, raw, 1, 2, TERMS).tolist() == [[1.5, 2.5]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("f32", Roundings(0, 1)), ("q8_0", Roundings(1, 1)), ("q4_1", Roundings(2, 2))],
)
def test_roundings(parse: Parse, name: str, expected: Roundings) -> None:
    assert roundings(lookup(parse(""), name, FormatOp)) == expected


@pytest.mark.parametrize(
    ("field", "size", "body", "what"),
    [
        ("vector<4xi32>", 16, "%y = infer.cast %x : vector<4xi8>", "not exact"),
        ("vector<4xf32>", 16, "%y = infer.cast %x : vector<4xi32>", "not exact"),
        (
            "vector<4xi8>",
            4,
            "%c = arith.constant dense<8> : vector<4xi8>\n%y = arith.shrui %x, %c : vector<4xi8>",
            "width",
        ),
        ("vector<4xi8>", 4, "%y = arith.divui %x, %x : vector<4xi8>", "arith.divui"),
    ],
)
def test_what_is_not_exact_or_not_known_is_refused(
    parse: Parse, field: str, size: int, body: str, what: str
) -> None:
    format_ = one_field_format(parse, field, size, f"{body}\ninfer.decoded %y")
    with pytest.raises(DiagnosticError, match=what) as caught:
        decode_blocks(format_, bytes(size), 1)
    assert caught.value.diagnostics[0].place is not None


def test_sizes_must_fit(parse: Parse) -> None:
    format_ = lookup(parse(""), "q8_0", FormatOp)
    with pytest.raises(ValueError, match="got 67 bytes"):
        decode_blocks(format_, bytes(67), 2)
    with pytest.raises(ValueError, match="no whole blocks"):
        decode_matrix(format_, bytes(68), 1, 48)
    with pytest.raises(ValueError, match="got 68 bytes"):
        QuantMatrix(format_, bytes(68), 3, 32)


def test_matrix_decodes_the_rows_that_are_asked_for(
    parse: Parse, monkeypatch: pytest.MonkeyPatch
) -> None:
    format_ = lookup(parse(""), "q8_0", FormatOp)
    raw = np.random.default_rng(2).integers(0, 64, (10, 2, 34), np.uint8)
    whole = decode_matrix(format_, raw.tobytes(), 10, 64)
    matrix = QuantMatrix(format_, raw.tobytes(), 10, 64)
    picked = np.array([7, 0, 7])
    assert (matrix.values(picked) == whole[picked]).all()
    monkeypatch.setattr("metainfer.interp.matrix.CHUNK", 200)
    parts = list(chunks(matrix))
    assert [(p.start, p.stop) for p in parts] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert (np.concatenate([matrix.values(p) for p in parts]) == whole).all()


def test_cache_keeps_what_fits(parse: Parse) -> None:
    format_ = lookup(parse(""), "q8_0", FormatOp)
    matrix = QuantMatrix(format_, bytes(340), 10, 32, DecodeCache(6 * 32 * 8), ("w", 0))
    first, second = slice(0, 5), slice(5, 10)
    assert matrix.values(first) is matrix.values(first)
    assert matrix.values(second) is not matrix.values(second)
