"""Each op against its formula written with plain loops, and stepwise runs against whole ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from metainfer.interp import ops
from metainfer.interp.attention import Heads, attend
from metainfer.interp.batch import Batch
from metainfer.interp.matrix import DenseMatrix
from metainfer.interp.numerics import F64
from metainfer.interp.state import Slots, State

Array = NDArray[np.float64]
HEADS = Heads(q_heads=6, kv_heads=2, head_dim=4, scale=0.37)


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def close(got: Array, want: Array, sizes: Array | float, roundings: int) -> bool:
    """Both sides round at most `roundings` times relative to `sizes` in float64."""
    return bool((np.abs(got - want) <= 2 * F64.gamma(roundings) * sizes).all())


def test_linear() -> None:
    x, w = normal(3, 7), normal(5, 7, seed=1)
    want = np.array([[math.fsum((row * out).tolist()) for out in w] for row in x])
    sizes = np.abs(x) @ np.abs(w).T
    assert close(ops.linear(x, DenseMatrix(w)), want, sizes, 7)
    some = ops.linear(x, DenseMatrix(w), np.array([4, 1], np.int32))
    assert close(some[:, [4, 1]], want[:, [4, 1]], sizes[:, [4, 1]], 7)
    assert np.isnan(some[:, [0, 2, 3]]).all()


def test_linear_in_row_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = normal(2, 8), normal(11, 8, seed=1)
    whole = ops.linear(x, DenseMatrix(w))
    monkeypatch.setattr("metainfer.interp.matrix.CHUNK", 24)
    assert close(ops.linear(x, DenseMatrix(w)), whole, np.abs(x) @ np.abs(w).T, 8)


def test_rms_norm() -> None:
    x, w, eps = normal(3, 5), normal(5, seed=1), 0.25
    want = np.empty_like(x)
    for t in range(3):
        mean = math.fsum(v * v for v in x[t]) / 5
        for i in range(5):
            want[t, i] = x[t, i] / math.sqrt(mean + eps) * w[i]
    assert close(ops.rms_norm(x, w, eps), want, np.abs(want), 12)


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
def test_rope(pairing: str) -> None:
    head_dim, theta, pos = 6, 100.0, np.array([0, 3, 2047], np.int32)
    x = normal(3, 12)
    want = np.empty_like(x)
    for t, head, i in np.ndindex(3, 2, 3):
        pair = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + 3)
        first, second = (head * head_dim + p for p in pair)
        angle = int(pos[t]) * theta ** (-2 * i / head_dim)
        turned = complex(x[t, first], x[t, second]) * complex(math.cos(angle), math.sin(angle))
        want[t, first], want[t, second] = turned.real, turned.imag
    # Both angles carry a relative error of a few units, and are at most 2047.
    assert close(ops.rope(x, pos, head_dim, theta, pairing), want, np.abs(x).sum() * 2047, 8)


def test_gated_act() -> None:
    gate = np.array([[-700.0, -40.0, -1.0, -0.0, 0.5, 40.0, 800.0]])
    up = normal(1, 7)
    want = np.array([[z / (1 + math.exp(-z)) * u for z, u in zip(gate[0], up[0], strict=True)]])
    assert close(ops.gated_act(gate, up, ops.GATES["silu"]), want, np.abs(want) + F64.tiny, 8)


def test_select_last() -> None:
    batch = Batch.of([([1, 2, 3], 0), ([4], 7), ([5, 6], 1)])
    x = normal(6, 2)
    assert (ops.select_last(x, batch.q_start) == x[[2, 3, 5]]).all()


def _attend_by_loops(q: Array, state: State, batch: Batch) -> tuple[Array, Array]:
    """The result, and the magnitudes that its rounding is relative to."""
    y, sizes = np.zeros_like(q), np.zeros_like(q)
    dim = HEADS.head_dim
    for t, h in np.ndindex(batch.tokens, HEADS.q_heads):
        slots = state.slots(0, int(batch.row[t]))
        group, columns = h // 3, slice(h * dim, (h + 1) * dim)
        seen = range(int(batch.pos[t]) + 1)
        scores = [HEADS.scale * math.fsum(q[t, columns] * slots.k[j, group]) for j in seen]
        weights = [math.exp(s - max(scores)) for s in scores]
        for j in seen:
            y[t, columns] += weights[j] / math.fsum(weights) * slots.v[j, group]
            sizes[t, columns] += weights[j] / math.fsum(weights) * abs(slots.v[j, group])
    return y, sizes


def test_attend_over_several_sequences() -> None:
    batch = Batch.of([([1, 2, 3], 4), ([1], 0), ([1, 2], 9)])
    # More positions than may be seen: a later step's, which the mask must hide.
    held = {(0, s): Slots(normal(12, 2, 4, seed=s), normal(12, 2, 4, seed=9 + s)) for s in range(3)}
    state, q = State.of(held), normal(batch.tokens, 24)
    want, sizes = _attend_by_loops(q, state, batch)
    # Scores are at most 20, so an error of one unit in them is 20 units in a weight.
    assert close(attend(q, state, 0, batch, HEADS), want, sizes, 12 + 20 * 5)


def test_attend_with_far_apart_scores_does_not_overflow() -> None:
    batch = Batch.of([([1], 2)])
    k = np.array([-1e5, 1e5, 0.0])[:, None, None] * np.ones((3, 2, 4))
    v = normal(3, 2, 4)
    y = attend(np.ones((1, 24)), State.of({(0, 0): Slots(k, v)}), 0, batch, HEADS)
    assert (y.reshape(6, 4) == np.repeat(v[1], 3, axis=0)).all()


def test_attend_refuses_positions_that_are_not_held() -> None:
    state = State.of({(0, 0): Slots(normal(3, 2, 4), normal(3, 2, 4))})
    with pytest.raises(ValueError, match="holds 3 positions, 4 are read"):
        attend(normal(1, 24), state, 0, Batch.of([([1], 3)]), HEADS)
