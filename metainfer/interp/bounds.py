"""How far a correct implementation may be from the value: forward running error bounds.

The implementation stores every intermediate value as f32, accumulates in f32 in any order that is
fixed, and may or may not fuse a multiplication with an addition. `u` is the unit roundoff,
`gamma(n) = n u / (1 - n u)`, `tiny` the smallest normal number (`numerics.Numerics`). Inputs carry
their own bounds. Nothing here is tuned: each formula counts roundings, and says so. Where the
table of kernels.md §3.3 has the statistical sqrt(n) for a sum's error, n stands here, as
verification.md asks for inputs that are offset or equal, where errors do not cancel.

kernels.md and verification.md are the project's notes on numerics; Higham is Accuracy and Stability
of Numerical Algorithms, 2nd edition.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metainfer.interp import ops
from metainfer.interp.attention import attend_bound
from metainfer.interp.decode import Roundings
from metainfer.interp.matrix import Matrix, chunks
from metainfer.interp.numerics import Array, Bounded, Ints, Numerics
from metainfer.interp.rules import Rules


def linear(x: Bounded, w: Matrix, rows: Ints | None, numerics: Numerics) -> Array:
    """`gamma(n) sum_k (|x| + B_x) T + sum_k B_x |w| + tiny`, T the weight's term magnitudes.

    Higham §3.1: a sum of products in any order, n roundings on the way of each term. The decoded
    weight adds its own (`d*q + m`: two), so n = K + 2 for Q4_1, whether weights are decoded first
    or `d sum q x` and `m sum x` are kept apart. Products with an x that is zero are exact and do
    not count, each other term of the sum counts once: n = min(K, nnz terms) + depth.
    """
    bound = np.full((len(x.value), w.rows), np.nan)
    size = (np.abs(x.value) + x.bound) * numerics.gamma(_sum_roundings(x, w.roundings))
    inherits = bool(x.bound.any())
    for part in chunks(w) if rows is None else [rows]:
        b = size @ w.terms(part).T + numerics.tiny
        if inherits:
            b += x.bound @ np.abs(w.values(part)).T
        bound[:, part] = b
    return bound


def _sum_roundings(x: Bounded, weight: Roundings) -> Array:
    """Roundings on the way of a term to the sum: (tokens, 1)."""
    used = ((x.value != 0) | (x.bound != 0)).sum(axis=-1, keepdims=True)
    addends = np.minimum(x.value.shape[-1], used * weight.terms)
    return np.asarray(addends + weight.depth, np.float64)


def decoded(w: Matrix, rows: Ints, numerics: Numerics) -> Array:
    """`embed`: `gamma(depth) T`, one rounding per float operation of the decode region."""
    bound: Array = numerics.gamma(w.roundings.depth) * w.terms(rows)
    return bound


def rms_norm(x: Bounded, w: Bounded, eps: float, numerics: Numerics) -> Array:
    """`(n/2 + 5) u |y|` and what the errors of x and w contribute.

    The sum of squares takes n roundings (n: elements that are not zero), the mean and eps two more;
    the root halves them; root, reciprocal, and the products with x and w round once each. (Row
    RMSNorm of kernels.md §3.3, `1 + 4 + sqrt(n)`, with the sum's own bound.) An error B of x moves
    the root mean square by at most rms(B), and that of any input is at least sqrt(eps).
    """
    root = ops.rms(x.value, eps)
    moved = np.sqrt(np.mean(np.square(x.bound), axis=-1, keepdims=True))
    smallest = np.maximum(root - moved, np.sqrt(eps))
    size, w_size = np.abs(x.value), np.abs(w.value)
    normed = size / root
    inherited = x.bound / smallest + normed * (moved / smallest)
    inherited = inherited * (w_size + w.bound) + normed * w.bound
    used = ((x.value != 0) | (x.bound != 0)).sum(axis=-1, keepdims=True)
    reached = normed * w_size + inherited
    underflow = numerics.tiny * (1 + reached / np.square(smallest))
    bound: Array = inherited + numerics.gamma(used / 2 + 5) * reached + underflow
    return bound


def rope(
    x: Bounded, pos: Ints, head_dim: int, theta: float, pairing: str, numerics: Numerics
) -> Array:
    """`3 u (|x0| + |x1|)` for both elements of a pair, and their errors turned.

    The table of cosines and sines is computed in double precision and rounded once; a product and
    a difference follow (row RoPE of kernels.md §3.3 without `pos theta u_trig`: angles are exact).
    """
    cos, sin = (np.abs(a) for a in ops.angles(pos, head_dim, theta))
    first, second = ops.pairs(np.abs(x.value), head_dim, pairing)
    b_first, b_second = ops.pairs(x.bound, head_dim, pairing)
    fresh: Array = numerics.gamma(3) * (first + b_first + second + b_second) + numerics.tiny
    return ops.unpair(
        fresh + b_first * cos + b_second * sin, fresh + b_first * sin + b_second * cos, pairing
    )


def gated_act(gate: Bounded, up: Bounded, act: ops.Gate, numerics: Numerics) -> Array:
    """`(4 (1 + |z f'(z) / f(z)|) + 1) u |f(z) up|` and the errors of both inputs.

    Row SwiGLU/GeGLU of kernels.md §3.3; with `f(z) = z sigmoid(v(z))` the factor is
    `z f' / f = 1 + z v'(z) (1 - sigmoid(v))`. An error B of z moves f by at most
    `|f'| B + max|f''| B^2 / 2`. Where exp(-v) overflows, or f is about to underflow, f is off by at
    most `tiny (1 + |z|)`.
    """
    z = gate.value
    sigma = ops.sigmoid(act.inner(z))
    f, factor = np.abs(z * sigma), np.abs(1 + z * act.slope(z) * (1 - sigma))
    moved = sigma * factor * gate.bound + act.curvature * np.square(gate.bound) / 2
    up_reached = np.abs(up.value) + up.bound
    inherited = moved * up_reached + f * up.bound
    units = (4 * (1 + factor) + 1) * numerics.unit
    underflow = numerics.tiny * ((1 + np.abs(z)) * up_reached + 1)
    return inherited + units * (f + moved) * up_reached + underflow


def scale(x: Bounded, factor: float, numerics: Numerics) -> Array:
    """`|factor| B_x + u |y|`, and one unit more for the rounding of the factor itself."""
    inherited = abs(factor) * x.bound
    reached = abs(factor) * np.abs(x.value) + inherited
    return inherited + numerics.gamma(2) * reached + numerics.tiny


def add(a: Bounded, b: Bounded, numerics: Numerics) -> Array:
    """`B_a + B_b + u |a + b|`: one rounding; sums do not underflow (Higham §2.1)."""
    inherited = a.bound + b.bound
    return inherited + numerics.unit * (np.abs(a.value + b.value) + inherited)


def stored(x: Bounded, element: str) -> Array:
    """What storing as `element` adds: nothing for f32, half a unit in the last place for f16."""
    return _STORED[element](x)


def _f16(x: Bounded) -> Array:
    """binary16: unit roundoff 2^-11, smallest subnormal 2^-24 (IEEE 754-2019, table 3.5)."""
    return x.bound + 2.0**-11 * (np.abs(x.value) + x.bound) + 2.0**-25


_STORED: dict[str, Callable[[Bounded], Array]] = {"f32": lambda x: x.bound, "f16": _f16}

RULES = Rules(linear, decoded, rms_norm, rope, gated_act, scale, add, attend_bound, stored)
"""Bounds that hold for any values."""
