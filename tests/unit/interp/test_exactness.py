"""Mode `exact`: where its bound is 0, float32 in any order gives the very value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from metainfer.interp import exactness
from metainfer.interp.batch import Batch
from metainfer.interp.decode import QUANTA, TERMS, decode_blocks
from metainfer.interp.matrix import DenseMatrix, QuantMatrix
from metainfer.interp.numerics import F32, Bounded, quantum
from metainfer.interp.run import Interpreter
from metainfer.ir.dialects.infer import FormatOp
from metainfer.ir.symbols import lookup
from metainfer.knowledge.base import Knowledge
from metainfer.passes.imports import import_format
from metainfer.resources import ckb_dir

Parse = Callable[[str], ModuleOp]
FORMATS = [id_.split("/")[1] for id_ in Knowledge(ckb_dir()).ids("quant")]
seeds = st.integers(0, 2**32 - 1)
floats32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(floats32)
def test_the_quantum_is_the_lowest_set_bit(x: float) -> None:
    (found,) = quantum(np.array([x]))
    if x == 0:
        assert found == np.inf
        return
    numerator, denominator = x.as_integer_ratio()
    assert found == (numerator & -numerator) / denominator


@pytest.mark.parametrize("name", FORMATS)
def test_values_and_terms_of_every_format_are_multiples_of_their_quanta(name: str) -> None:
    module = ModuleOp([])
    import_format(module, name, Knowledge(ckb_dir()))
    format_ = lookup(module, name, FormatOp)
    raw = np.random.default_rng(0).integers(0, 256, (64, format_.bytes.value.data), np.uint8)
    with np.errstate(all="ignore"):
        values, terms, quanta = (
            decode_blocks(format_, raw.reshape(-1), 64, *reading)
            for reading in ((), (TERMS,), (QUANTA,))
        )
    # Where float64 itself holds the terms' sum.
    used = np.isfinite(values) & np.isfinite(quanta) & (terms <= quanta * 2.0**53)
    assert used.sum() > used.size // 2
    for numbers in (values, terms):
        steps = numbers[used] / quanta[used]
        assert (steps == np.rint(steps)).all()


def _sum32(products: np.ndarray) -> np.float32:
    total = np.float32(0)
    for product in products.astype(np.float32):
        total = np.float32(total + product)
    return total


@given(seeds, st.integers(1, 24), st.integers(1, 24))
def test_sums_that_are_called_exact_are_so_in_any_order(
    seed: int, x_bits: int, w_bits: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-(2**x_bits), 2**x_bits, (2, 9)) * 2.0 ** rng.integers(-8, 8)
    w = rng.integers(-(2**w_bits), 2**w_bits, (3, 9)) * 2.0 ** rng.integers(-8, 8, (3, 1))
    bound = exactness.linear(Bounded.exact(x), DenseMatrix(w), None, F32)
    assert set(np.unique(bound)) <= {0.0, np.inf}
    value = x @ w.T
    for t, o in np.argwhere(bound == 0):
        for _ in range(4):
            order = rng.permutation(9)
            assert _sum32(x[t, order] * w[o, order]) == value[t, o]


def test_the_limit_is_two_to_the_24_quanta() -> None:
    ones = DenseMatrix(np.ones((1, 2)))

    def off(*x: float) -> float:
        return float(exactness.linear(Bounded.exact(np.array([x])), ones, None, F32)[0, 0])

    assert off(2.0**24 - 1, 1) == off(1 - 2.0**-24, 2.0**-24) == 0
    assert off(2.0**24, 1) == off(1, 2.0**-24) == np.inf
    assert off(2.0**-126, 2.0**-126) == 0
    assert off(2.0**-127, 2.0**-127) == np.inf


def test_what_is_off_stays_off() -> None:
    one, two = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    known, vague = Bounded.exact(one), Bounded(two, np.array([[0.0, np.inf]]))
    assert exactness.add(known, vague, F32).tolist() == [[0.0, np.inf]]
    assert exactness.scale(vague, 0.5, F32).tolist() == [[0.0, np.inf]]
    assert exactness.scale(known, 0.1, F32).tolist() == [[np.inf, np.inf]]
    assert exactness.linear(vague, DenseMatrix(np.eye(2)), None, F32).tolist() == [[np.inf] * 2]
    third = Bounded.exact(np.array([[1 + 2.0**-11, 2.0**-24, 2.0**17]]))
    assert exactness.stored(third, "f16").tolist() == [[np.inf, 0.0, np.inf]]
    assert exactness.stored(third, "f32").tolist() == [[0.0] * 3]


def test_a_function_in_mode_exact(parse: Parse) -> None:
    x = "tensor<?x4xf32, #infer.dims<tokens, _>>"
    module = parse(f"""
func.func @f(%x: {x}, %w: tensor<4x4xf32>, %n: tensor<4xf32>) -> ({x}, {x}, {x}) {{
  %y = infer.linear %x, %w : {x}
  %half = infer.scale %y {{factor = 5.0e-01 : f64}} : {x}
  %sum = infer.add %half, %x : {x}
  %tenth = infer.scale %y {{factor = 1.0e-01 : f64}} : {x}
  %norm = infer.rms_norm %x, %n {{eps = 1.0e-05 : f64}} : {x}
  func.return %sum, %tenth, %norm : {x}, {x}, {x}
}}
""")
    given_ = np.arange(8.0).reshape(2, 4), np.eye(4), np.ones(4)
    results = Interpreter(module, mode="exact").run("f", *given_)
    plain = Interpreter(module).run("f", *given_)
    bound = [r.bound for r in results if isinstance(r, Bounded)]
    assert [b.max() for b in bound] == [0.0, np.inf, np.inf]
    for one, other in zip(results, plain, strict=True):
        assert isinstance(one, Bounded)
        assert (one.value == other).all()


def test_stored_weights_and_position_0(parse: Parse) -> None:
    format_ = lookup(parse(""), "q4_1", FormatOp)
    block = np.float16(0.25).tobytes() + np.float16(-2).tobytes() + bytes(range(16))
    matrix = QuantMatrix(format_, block * 2, 2, 32)
    x = Bounded.exact(np.arange(64.0).reshape(2, 32))
    assert (exactness.linear(x, matrix, None, F32) == 0).all()
    fine = np.float16(0.1).tobytes() + np.float16(-1024).tobytes() + bytes(range(16))
    rounded = QuantMatrix(format_, fine * 2, 2, 32)
    assert (exactness.linear(x, rounded, None, F32) == np.inf).all()
    pos = Batch.of([([1, 2], 0)]).pos
    assert exactness.rope(x, pos, 32, 1e4, "half", F32).max(axis=1).tolist() == [0.0, np.inf]
