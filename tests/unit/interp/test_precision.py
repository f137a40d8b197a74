"""The tight bound of random sums: correct orders stay below it, lost precision does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from metainfer.interp import bounds
from metainfer.interp.decode import decode_matrix
from metainfer.interp.matrix import DenseMatrix, Matrix, QuantMatrix
from metainfer.interp.numerics import F32, Bounded
from metainfer.interp.precision import precise
from metainfer.ir.dialects.infer import FormatOp
from metainfer.ir.symbols import lookup

Parse = Callable[[str], ModuleOp]
F32s = NDArray[np.float32]


def _lanes(products: F32s, lanes: int) -> F32s:
    """Lane l adds the products k = l mod lanes; then the lanes are added in order."""
    rows, count = products.shape
    padded = np.zeros((rows, -(-count // lanes) * lanes), np.float32)
    padded[:, :count] = products
    total = np.zeros((rows, lanes), np.float32)
    for step in padded.reshape(rows, -1, lanes).transpose(1, 0, 2):
        total = total + step
    result = np.zeros(rows, np.float32)
    for lane in total.T:
        result = result + lane
    return result


def _pairs(products: F32s) -> F32s:
    while products.shape[1] > 1:
        if products.shape[1] % 2:
            products = np.pad(products, ((0, 0), (0, 1)))
        products = products[:, ::2] + products[:, 1::2]
    return products[:, 0]


def _rounded_to(values: F32s, bits: int) -> F32s:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 2.0**bits) / 2.0**bits, exponent).astype(np.float32)


ORDERS: dict[str, Callable[[F32s], F32s]] = {
    "one after the other": lambda p: _lanes(p, 1),
    "8 lanes": lambda p: _lanes(p, 8),
    "32 lanes": lambda p: _lanes(p, 32),
    "pairwise": _pairs,
}


def _ratio(x: F32s, w: Matrix, got: F32s) -> float:
    value = w.values(slice(0, w.rows)) @ x.astype(np.float64)
    bound = precise([0]).linear(Bounded.exact(x[None].astype(np.float64)), w, None, F32)
    return float((np.abs(got - value) / bound[0]).max())


@pytest.fixture(params=[31, 576, 4096])
def drawn(request: pytest.FixtureRequest) -> tuple[F32s, F32s]:
    """An input and a dense weight of 2,000 rows."""
    rng = np.random.default_rng(request.param)
    x = rng.standard_normal(request.param, np.float32)
    return x, rng.standard_normal((2000, request.param), np.float32)


@pytest.mark.parametrize("order", ORDERS)
def test_correct_sums_stay_below(drawn: tuple[F32s, F32s], order: str) -> None:
    x, w = drawn
    assert _ratio(x, DenseMatrix(w), ORDERS[order](w * x)) <= 1


def test_operands_of_ten_bits_do_not(drawn: tuple[F32s, F32s]) -> None:
    """As tensor cores round them in TF32."""
    x, w = drawn
    products = _rounded_to(w, 11) * _rounded_to(x, 11)
    assert _ratio(x, DenseMatrix(w), _pairs(products)) > 2
    # The linear bound lets that pass from some length on.
    value = w.astype(np.float64) @ x
    linear = bounds.linear(Bounded.exact(x[None].astype(np.float64)), DenseMatrix(w), None, F32)
    if len(x) == 4096:
        assert (np.abs(_pairs(products) - value) <= linear[0]).all()


def test_half_precision_sums_do_not(drawn: tuple[F32s, F32s]) -> None:
    x, w = drawn
    total = np.zeros(len(w), np.float16)
    for column in (w * x).T:
        total = (total + column).astype(np.float16)
    assert _ratio(x, DenseMatrix(w), total.astype(np.float32)) > 2


def test_sixteen_terms_of_many_are_bounded_as_sixteen() -> None:
    rng = np.random.default_rng(0)
    x = np.zeros(4096, np.float32)
    x[rng.choice(4096, 16, replace=False)] = rng.standard_normal(16, np.float32)
    w = rng.standard_normal((2000, 4096), np.float32)
    assert _ratio(x, DenseMatrix(w), _lanes(w * x, 1)) <= 1
    assert _ratio(x, DenseMatrix(w), _pairs(_rounded_to(w, 11) * _rounded_to(x, 11))) > 100


def test_kinds_of_terms_may_be_summed_apart(parse: Parse) -> None:
    """`d*sum(q*x) + m*sum(x)` of Q4_1, where both parts are far larger than the result."""
    format_ = lookup(parse(""), "q4_1", FormatOp)
    rng = np.random.default_rng(1)
    rows, blocks = 500, 18
    d = rng.uniform(0.01, 0.02, (rows, blocks, 1)).astype(np.float16)
    m = (-7.5 * d.astype(np.float32)).astype(np.float16)
    qs = rng.integers(0, 256, (rows, blocks, 16), np.uint8)
    raw = np.concatenate([d.view(np.uint8), m.view(np.uint8), qs], axis=2)
    matrix = QuantMatrix(format_, raw.reshape(-1), rows, 32 * blocks)
    x = (3 + rng.standard_normal(32 * blocks)).astype(np.float32)
    codes = np.concatenate([qs & 15, qs >> 4], axis=2).astype(np.float32)
    x_blocks = x.reshape(blocks, 32)
    got = np.zeros(rows, np.float32)
    for block in range(blocks):
        scaled = _lanes(codes[:, block] * x_blocks[block], 8)
        total = _lanes(x_blocks[block : block + 1], 8)
        got = got + (d[:, block, 0].astype(np.float32) * scaled)
        got = got + (m[:, block, 0].astype(np.float32) * total)
    assert _ratio(x, matrix, got) <= 1
    kinds = np.sum(matrix.kinds(slice(0, rows)), axis=0)
    assert (kinds == decode_matrix(format_, raw.reshape(-1), rows, 32 * blocks)).all()


def test_only_named_rows_whose_input_is_exact_are_tight() -> None:
    rng = np.random.default_rng(2)
    x, w = rng.standard_normal((3, 64)), DenseMatrix(rng.standard_normal((5, 64)))
    off = np.zeros_like(x)
    off[2] = 1e-6
    given = Bounded(x, off)
    linear = bounds.linear(given, w, None, F32)
    tight = precise([0, 2, 7]).linear(given, w, None, F32)
    assert (tight[0] < linear[0]).all()
    assert (tight[1:] == linear[1:]).all()
