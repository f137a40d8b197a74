"""The mathematics of the `infer` ops on float64 arrays; `attention.py` has `infer.attend`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from metainfer.interp.matrix import Matrix, chunks
from metainfer.interp.numerics import Array, Ints


def linear(x: Array, w: Matrix, rows: Ints | None = None) -> Array:
    """`y[t, r] = sum_k x[t, k] w[r, k]`: (tokens, rows of w).

    With `rows`, only these columns of the result are computed and the others are NaN. Decodes `w`
    some rows at a time and keeps none of them.
    """
    y = np.full((len(x), w.rows), np.nan)
    if rows is not None:
        y[:, rows] = x @ w.values(rows).T
        return y
    for part in chunks(w):
        np.matmul(x, w.values(part).T, out=y[:, part])
    return y


def rms_norm(x: Array, w: Array, eps: float) -> Array:
    """`y[t, i] = x[t, i] / sqrt(mean_j(x[t, j]^2) + eps) * w[i]`."""
    y: Array = x / rms(x, eps) * w
    return y


def rms(x: Array, eps: float) -> Array:
    """The divisor of `rms_norm`: (tokens, 1)."""
    squares: Array = np.mean(np.square(x), axis=-1, keepdims=True)
    return np.sqrt(squares + eps)


def rope(x: Array, pos: Ints, head_dim: int, theta: float, pairing: str) -> Array:
    """Each head's pair i turned by the angle `pos[t] theta^(-2i / head_dim)`.

    `pairing`: `interleaved` pairs elements 2i and 2i + 1, `half` i and i + head_dim / 2.
    """
    cos, sin = angles(pos, head_dim, theta)
    first, second = pairs(x, head_dim, pairing)
    return unpair(first * cos - second * sin, first * sin + second * cos, pairing)


def angles(pos: Ints, head_dim: int, theta: float) -> tuple[Array, Array]:
    """Cosine and sine of each token's and pair's angle: (tokens, 1, head_dim / 2)."""
    frequency = theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    angle = pos.astype(np.float64)[:, None, None] * frequency
    return np.cos(angle), np.sin(angle)


def pairs(x: Array, head_dim: int, pairing: str) -> tuple[Array, Array]:
    """First and second elements of all pairs, each (tokens, heads, head_dim / 2)."""
    heads = x.reshape(len(x), -1, head_dim)
    if pairing == "interleaved":
        return heads[:, :, 0::2], heads[:, :, 1::2]
    return heads[:, :, : head_dim // 2], heads[:, :, head_dim // 2 :]


def unpair(first: Array, second: Array, pairing: str) -> Array:
    """The inverse of `pairs`: (tokens, heads * head_dim)."""
    both = [first, second]
    joined = np.stack(both, axis=3) if pairing == "interleaved" else np.concatenate(both, axis=2)
    return joined.reshape(len(first), -1)


def gated_act(gate: Array, up: Array, act: Gate) -> Array:
    """`y = act(gate) up`."""
    return gate * sigmoid(act.inner(gate)) * up


@dataclass(frozen=True)
class Gate:
    """An activation `f(z) = z sigmoid(inner(z))`."""

    inner: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    """Derivative of `inner`."""
    curvature: float
    """A bound of |f''|."""


_C = float(np.sqrt(2 / np.pi))

GATES = {
    "silu": Gate(lambda z: z, np.ones_like, 0.5),
    "gelu_tanh": Gate(
        lambda z: 2 * _C * (z + 0.044715 * z**3), lambda z: 2 * _C * (1 + 3 * 0.044715 * z**2), _C
    ),
}
"""The activations of `infer.gated_act`. |f''| is largest at 0: 1/2 for silu, c for gelu_tanh."""


def sigmoid(z: Array) -> Array:
    """`1 / (1 + exp(-z))` without overflow."""
    small = np.exp(-np.abs(z))
    return np.where(z < 0, small, 1.0) / (1.0 + small)


def select_last(x: Array, q_start: Ints) -> Array:
    """The last token of each sequence: `y[s] = x[q_start[s + 1] - 1]`."""
    return x[q_start[1:] - 1]
