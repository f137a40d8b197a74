"""Bounds hold for float32 implementations of each op, and not for wrong ones.

The implementations below are written as a kernel would be: float32 everywhere, one accumulator or
several, sums in a fixed order. Faults are the ones that such kernels have had.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from metainfer.interp import bounds, ops
from metainfer.interp.attention import Heads, attend, attend_bound
from metainfer.interp.batch import Batch
from metainfer.interp.matrix import DenseMatrix, Matrix, QuantMatrix
from metainfer.interp.numerics import F32, F64, Bounded, Numerics
from metainfer.interp.state import Slots, State
from metainfer.ir.dialects.infer import FormatOp
from metainfer.ir.symbols import lookup

Array = NDArray[np.float64]
Single = NDArray[np.float32]
f32 = np.float32


def ratio(got: NDArray[np.floating], value: Array, bound: Array) -> float:
    """The largest error, in bounds."""
    assert got.dtype == np.float32
    return float((np.abs(got - value) / bound).max())


def inputs(name: str, *shape: int, seed: int = 0) -> Single:
    """Values of a family, exactly representable in float32."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    match name:
        case "equal":
            x = np.full(shape, 0.1)
        case "offset":
            x = x + 1e3
        case "alternating":
            x = np.abs(x) * np.where(np.arange(shape[-1]) % 2, -1, 1)
        case "sparse":
            x[..., rng.permutation(shape[-1])[16:]] = 0
        case "tiny":
            x = x * 1e-30
        case "small":
            x = x * 1e-4
        case "spike":
            x[..., 3] = 1e6
        case "zero":
            x = np.zeros(shape)
    return x.astype(f32)


FAMILIES = ("random", "equal", "offset", "alternating", "sparse", "tiny", "spike", "zero")


def exact(x: NDArray[np.floating]) -> Bounded:
    return Bounded.exact(x.astype(np.float64))


# === linear ===


def sum_in_order(products: Single, lanes: int = 1) -> Single:
    """Sum the last axis: k modulo `lanes` chooses the accumulator, which are then added up."""
    accumulators = np.zeros((*products.shape[:-1], lanes), f32)
    for k in range(products.shape[-1]):
        accumulators[..., k % lanes] += products[..., k]
    total = accumulators[..., 0]
    for lane in range(1, lanes):
        total = total + accumulators[..., lane]
    return total


def products(x: Single, w: Single) -> Single:
    return x[:, None, :] * w[None, :, :]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_linear(family: str, lanes: int) -> None:
    x, w = inputs(family, 3, 193), inputs("random", 5, 193, seed=1)
    y = ops.linear(exact(x).value, DenseMatrix(w))
    bound = bounds.linear(exact(x), DenseMatrix(w), None, F32)
    assert ratio(sum_in_order(products(x, w), lanes), y, bound) <= 1


@pytest.mark.parametrize("family", ["random", "equal", "offset", "alternating", "tiny"])
def test_linear_without_one_term(family: str) -> None:
    x, w = inputs(family, 3, 193), inputs("random", 5, 193, seed=1)
    y = ops.linear(exact(x).value, DenseMatrix(w))
    bound = bounds.linear(exact(x), DenseMatrix(w), None, F32)
    assert ratio(sum_in_order(products(x, w)[..., :-1]), y, bound) > 2
    assert ratio(sum_in_order(products(x, np.roll(w, 1, axis=0))), y, bound) > 2


@pytest.mark.parametrize("family", FAMILIES)
def test_linear_of_equal_weights(family: str) -> None:
    x, w = inputs(family, 3, 577), inputs("equal", 2, 577)
    y = ops.linear(exact(x).value, DenseMatrix(w))
    bound = bounds.linear(exact(x), DenseMatrix(w), None, F32)
    assert ratio(sum_in_order(products(x, w)), y, bound) <= 1


def test_sparse_rows_show_low_precision_accumulation() -> None:
    x, w = inputs("sparse", 4, 4096), inputs("random", 8, 4096, seed=1)
    y = ops.linear(exact(x).value, DenseMatrix(w))
    bound = bounds.linear(exact(x), DenseMatrix(w), None, F32)
    assert ratio(sum_in_order(products(x, w)), y, bound) <= 1
    tf32 = (w.view(np.uint32) & np.uint32(0xFFFFE000)).view(f32)
    assert ratio(sum_in_order(products(x, tf32)), y, bound) > 100


@pytest.fixture(scope="module")
def q4_1(parse: Callable[[str], ModuleOp]) -> tuple[QuantMatrix, Single, Single, Single]:
    """A matrix with large minima, and its d, m (rows, blocks, 1) and codes (rows, blocks, 32)."""
    rng = np.random.default_rng(3)
    raw = rng.integers(0, 256, (6, 4, 20), np.uint8)
    raw[..., :2] = rng.uniform(1e-3, 2e-3, (6, 4)).astype("<f2")[..., None].view(np.uint8)
    raw[..., 2:4] = rng.uniform(-0.2, -0.1, (6, 4)).astype("<f2")[..., None].view(np.uint8)
    codes = np.concatenate([raw[..., 4:] & 15, raw[..., 4:] >> 4], axis=-1).astype(f32)
    d, m = (raw[..., i : i + 2].copy().view("<f2").astype(f32) for i in (0, 2))
    matrix = QuantMatrix(lookup(parse(""), "q4_1", FormatOp), raw.tobytes(), 6, 128)
    return matrix, d, m, codes


def scales_apart(x: Single, d: Single, m: Single, codes: Single, minima: int = 4) -> Single:
    """`sum_b d_b sum_j q_j x_j + sum_b m_b sum_j x_j`, one accumulator for each kind of term."""
    blocks = x.reshape(len(x), 1, 4, 32)
    scaled = d[..., 0] * sum_in_order(codes[None] * blocks)
    shifted = m[..., 0] * sum_in_order(np.broadcast_to(blocks, (len(x), 6, 4, 32)))
    return sum_in_order(scaled) + sum_in_order(shifted[..., :minima])


@pytest.mark.parametrize("family", ["random", "equal", "offset", "sparse", "spike"])
def test_quantised_linear(q4_1: tuple[QuantMatrix, Single, Single, Single], family: str) -> None:
    matrix, d, m, codes = q4_1
    x = inputs(family, 3, 128)
    y = ops.linear(exact(x).value, matrix)
    bound = bounds.linear(exact(x), matrix, None, F32)
    decoded = (codes * d + m).reshape(6, 128)
    assert ratio(sum_in_order(products(x, decoded)), y, bound) <= 1
    assert ratio(scales_apart(x, d, m, codes), y, bound) <= 1


@pytest.mark.parametrize("family", ["random", "sparse"])
def test_wrong_quantised_linear(
    q4_1: tuple[QuantMatrix, Single, Single, Single], family: str
) -> None:
    matrix, d, m, codes = q4_1
    x = inputs(family, 3, 128)
    y = ops.linear(exact(x).value, matrix)
    bound = bounds.linear(exact(x), matrix, None, F32)
    assert ratio(scales_apart(x, d, m, codes, minima=3), y, bound) > 100
    swapped = (np.roll(codes, 16, axis=-1) * d + m).reshape(6, 128)
    assert ratio(sum_in_order(products(x, swapped)), y, bound) > 100


def test_bound_of_a_sampled_linear_is_that_of_the_whole() -> None:
    x, w, rows = inputs("random", 3, 40), inputs("random", 9, 40, seed=1), np.array([8, 2])
    noisy = Bounded(exact(x).value, np.full(x.shape, 1e-4))
    whole = bounds.linear(noisy, DenseMatrix(w), None, F32)
    some = bounds.linear(noisy, DenseMatrix(w), rows.astype(np.int32), F32)
    # The same sums of positive terms, in the order that BLAS chooses for each shape.
    rounding = 2 * F64.gamma(2 * 40) * whole[:, rows]
    assert (np.abs(some[:, rows] - whole[:, rows]) <= rounding).all()
    assert np.isnan(np.delete(some, rows, axis=1)).all()


# === The other ops ===


def rms_norm(x: Single, w: Single, eps: float, count: int | None = None) -> Single:
    mean = sum_in_order(x * x) / f32(count or x.shape[-1])
    return x * (f32(1) / np.sqrt(mean + f32(eps)))[:, None] * w


@pytest.mark.parametrize("family", [*FAMILIES, "small"])
def test_rms_norm(family: str) -> None:
    x, w = inputs(family, 3, 577), inputs("random", 577, seed=1)
    y = ops.rms_norm(exact(x).value, exact(w).value, 1e-5)
    bound = bounds.rms_norm(exact(x), exact(w), 1e-5, F32)
    assert ratio(rms_norm(x, w, 1e-5), y, bound) <= 1
    if family != "zero":
        wrong_count = rms_norm(x, w, 1e-5, count=576)
        assert ratio(wrong_count, y, bound) > 2 or family in ("tiny", "small")
    if family == "small":
        assert ratio(rms_norm(x, w, 0.0), y, bound) > 100


def rope(x: Single, pos: NDArray[np.int32], head_dim: int, theta: float, pairing: str) -> Single:
    cos, sin = (a.astype(f32) for a in ops.angles(pos, head_dim, theta))
    first, second = (p.astype(f32) for p in ops.pairs(x.astype(np.float64), head_dim, pairing))
    turned = ops.unpair(
        (first * cos - second * sin).astype(np.float64),
        (first * sin + second * cos).astype(np.float64),
        pairing,
    )
    return turned.astype(f32)


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
@pytest.mark.parametrize("family", FAMILIES)
def test_rope(family: str, pairing: str) -> None:
    pos = np.array([0, 1, 40, 1000, 131071], np.int32)
    x, shape = inputs(family, 5, 64), (16, 1e4)
    y = ops.rope(exact(x).value, pos, *shape, pairing)
    bound = bounds.rope(exact(x), pos, *shape, pairing, F32)
    assert ratio(rope(x, pos, *shape, pairing), y, bound) <= 1
    if x.any():
        other = {"interleaved": "half", "half": "interleaved"}[pairing]
        assert ratio(rope(x, pos, *shape, other), y, bound) > 100
        assert ratio(rope(x, pos + 1, *shape, pairing), y, bound) > 100


HEADS = Heads(q_heads=6, kv_heads=2, head_dim=16, scale=0.25)


def attend_f32(
    q: Single,
    k: Single,
    v: Single,
    pos: NDArray[np.int32],
    block: int,
    group_of: Callable[[int], int] = lambda h: h // 3,
    ahead: int = 0,
) -> Single:
    """Online softmax over blocks of keys, as an engine does it."""
    y = np.empty_like(q)
    for t, h in np.ndindex(len(q), HEADS.q_heads):
        columns = slice(16 * h, 16 * h + 16)
        keys, values = (a[: pos[t] + 1 + ahead, group_of(h)] for a in (k, v))
        top, below, above = f32(-np.inf), f32(0), np.zeros(16, f32)
        for start in range(0, len(keys), block):
            scores = sum_in_order(q[t, columns] * keys[start : start + block]) * f32(HEADS.scale)
            highest = max(top, scores.max())
            weights = np.exp(scores - highest)
            keep = np.exp(top - highest)
            below = below * keep + sum_in_order(weights[None])[0]
            part = values[start : start + block] * weights[:, None]
            above = above * keep + sum_in_order(part.T.copy())
            top = highest
        y[t, columns] = above * (f32(1) / below)
    return y


def attention(
    family: str, numerics: Numerics = F32
) -> tuple[tuple[Single, Single, Single, NDArray[np.int32]], Array, Array]:
    q, v = inputs(family, 3, 96), inputs("random", 90, 2, 16, seed=2)
    k = inputs("equal" if family == "equal" else "random", 90, 2, 16, seed=1)
    if family == "spike":
        v[:, :, 3] *= 1e4
    batch = Batch.of([([1], 0), ([1], 65), ([1], 88)])
    held = {(0, s): Slots(k.astype(np.float64), v.astype(np.float64)) for s in range(3)}
    state = State.of(held)
    y = attend(exact(q).value, state, 0, batch, HEADS)
    return (q, k, v, batch.pos), y, attend_bound(exact(q), state, 0, batch, HEADS, numerics)


@pytest.mark.parametrize("block", [1, 16, 64, 128])
@pytest.mark.parametrize("family", ["random", "equal", "offset", "sparse", "tiny", "zero", "spike"])
def test_attend(family: str, block: int) -> None:
    given, y, bound = attention(family)
    assert ratio(attend_f32(*given, block), y, bound) <= 1


@pytest.mark.parametrize("family", ["random", "sparse", "zero"])
def test_wrong_attention(family: str) -> None:
    (q, k, v, pos), y, bound = attention(family)
    assert ratio(attend_f32(q, k, v, pos, 16, group_of=lambda h: h % 2), y, bound) > 100
    assert ratio(attend_f32(q, k, v, pos, 16, ahead=1), y, bound) > 100
    shorter = attend_f32(q[1:], k, v, pos[1:], 16, ahead=-1)
    assert ratio(shorter, y[1:], bound[1:]) > 100


def silu_up(gate: Single, up: Single) -> Single:
    with np.errstate(over="ignore"):
        return gate / (f32(1) + np.exp(-gate)) * up


@pytest.mark.parametrize("family", [*FAMILIES, "wide"])
def test_gated_act(family: str) -> None:
    gate, up = inputs(family, 3, 500), inputs("random", 3, 500, seed=1)
    if family == "wide":
        gate = np.linspace(-110, 110, 1500, dtype=f32).reshape(3, 500)
    y = ops.gated_act(exact(gate).value, exact(up).value, ops.GATES["silu"])
    bound = bounds.gated_act(exact(gate), exact(up), ops.GATES["silu"], F32)
    assert ratio(silu_up(gate, up), y, bound) <= 1
    if family not in ("tiny", "zero"):
        assert ratio(silu_up(up, gate), y, bound) > 100


@pytest.mark.parametrize("family", FAMILIES)
def test_add(family: str) -> None:
    a, b = inputs(family, 3, 50), inputs("random", 3, 50, seed=1)
    y, bound = exact(a).value + exact(b).value, bounds.add(exact(a), exact(b), F32)
    assert ratio(a + b, y, bound) <= 1
    assert family in ("tiny", "zero") or ratio(a - b, y, bound) > 100


def test_f16_storage() -> None:
    x = np.concatenate([inputs("random", 99), inputs("random", 99) * f32(1e-6)])
    bound = bounds.stored(exact(x), "f16")
    assert ratio(x.astype(np.float16).astype(f32), exact(x).value, bound) <= 1
    bf16 = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(f32)
    assert ratio(bf16, exact(x).value, bound) > 2
    assert (bounds.stored(exact(x), "f32") == 0).all()


# === Errors of inputs ===


def disturbed(x: Bounded, seed: int) -> Single:
    """A float32 value anywhere within the bound."""
    share = np.random.default_rng(seed).choice([-1.0, 1.0, 0.3], x.value.shape)
    return (x.value + 0.99 * share * x.bound).astype(f32)


def noisy(*shape: int, seed: int, share: float = 1e-3) -> Bounded:
    x = inputs("random", *shape, seed=seed).astype(np.float64)
    return Bounded(x, share * (np.abs(x) + 0.1))


@pytest.mark.parametrize("seed", range(5))
def test_errors_of_inputs_are_covered(seed: int) -> None:
    x, up, norm = noisy(3, 64, seed=seed), noisy(3, 64, seed=seed + 99), noisy(64, seed=7)
    w = DenseMatrix(inputs("random", 5, 64, seed=8))
    pos = np.array([1, 70, 900], np.int32)
    near_x, near_up, near_norm = (disturbed(v, seed) for v in (x, up, norm))

    linear = bounds.linear(x, w, None, F32)
    assert ratio(sum_in_order(products(near_x, w.array)), ops.linear(x.value, w), linear) <= 1
    normed = bounds.rms_norm(x, norm, 1e-5, F32)
    want = ops.rms_norm(x.value, norm.value, 1e-5)
    assert ratio(rms_norm(near_x, near_norm, 1e-5), want, normed) <= 1
    want = ops.rope(x.value, pos, 16, 1e4, "half")
    turned = bounds.rope(x, pos, 16, 1e4, "half", F32)
    assert ratio(rope(near_x, pos, 16, 1e4, "half"), want, turned) <= 1
    silu = ops.GATES["silu"]
    want, acted = ops.gated_act(x.value, up.value, silu), bounds.gated_act(x, up, silu, F32)
    assert ratio(silu_up(near_x, near_up), want, acted) <= 1
    assert ratio(near_x + near_up, x.value + up.value, bounds.add(x, up, F32)) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_errors_of_attention_inputs_are_covered(seed: int) -> None:
    q, k, v = noisy(1, 96, seed=seed), noisy(40, 2, 16, seed=11), noisy(40, 2, 16, seed=12)
    batch = Batch.of([([1], 39)])
    state = State.of({(0, 0): Slots(k.value, v.value, k.bound, v.bound)})
    y = attend(q.value, state, 0, batch, HEADS)
    bound = attend_bound(q, state, 0, batch, HEADS, F32)
    near = attend_f32(*(disturbed(x, seed) for x in (q, k, v)), batch.pos, 16)
    assert ratio(near, y, bound) <= 1


@pytest.mark.parametrize("moved", ["q", "k", "v"])
def test_aligned_errors_of_one_attention_input_are_covered(moved: str) -> None:
    """Every error pulls towards the same key; the bound stays within four times what they reach."""
    signs = np.array([1.0, -1.0])[:, None, None] * np.ones((2, 2, 16))
    q, k, v = (np.full((1, 96), 0.1), signs, signs)
    error = 1e-4
    shift = {"q": np.ones_like(q), "k": signs, "v": np.ones_like(v)}[moved] * error
    exact_zero = {name: np.zeros_like(x) for name, x in (("q", q), ("k", k), ("v", v))}
    b = exact_zero | {moved: np.abs(shift)}
    batch, state = Batch.of([([1], 1)]), State.of({(0, 0): Slots(k, v, b["k"], b["v"])})
    y = attend(q, state, 0, batch, HEADS)
    bound = attend_bound(Bounded(q, b["q"]), state, 0, batch, HEADS, F32)
    near = {"q": q, "k": k, "v": v}
    near[moved] = near[moved] + shift
    there = State.of({(0, 0): Slots(near["k"], near["v"])})
    reached = np.abs(attend(near["q"], there, 0, batch, HEADS) - y) / bound
    assert reached.max() <= 1
    assert reached.min() > 0.25


def test_roundings_that_a_quantised_sum_may_have(
    q4_1: tuple[QuantMatrix, Single, Single, Single],
) -> None:
    """K + 2 for a dense row; for 16 non-zeros their 32 terms and the two of decoding."""
    matrix = q4_1[0]
    for family, count in (("random", 128 + 2), ("sparse", 2 * 16 + 2)):
        x = np.abs(inputs(family, 1, 128).astype(np.float64))
        bound = bounds.linear(Bounded.exact(x), matrix, None, F32)
        want = F32.gamma(count) * (x @ matrix.terms(slice(0, 6)).T)
        assert (np.abs(bound / want - 1) <= 2 * F64.gamma(128)).all()


def test_a_bound_is_not_looser_than_first_order_errors_demand() -> None:
    """With all errors aligned, an exact linear reaches what its inputs' bounds allow."""
    x = Bounded(np.ones((1, 64)), np.full((1, 64), 1e-3))
    matrix: Matrix = DenseMatrix(np.ones((1, 64), f32))
    bound = bounds.linear(x, matrix, None, F32)
    assert 0.99 < 64e-3 / bound[0, 0] <= 1
