"""Tight bounds for sums of terms that are drawn at random: what catches a loss of precision.

`bounds.linear` holds whatever the terms are, and allows n units of their sum; rounding errors of
random terms cancel, so a correct sum stays near sqrt(n) units. The tight bound is about such rows
only: roundings of equal terms are not independent, and a correct sum of them may exceed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metainfer.interp import bounds
from metainfer.interp.matrix import CHUNK, Matrix, Rows
from metainfer.interp.numerics import Array, Bounded, Ints, Numerics
from metainfer.interp.rules import Rules

LANES = (1, 2, 4, 8, 16, 32)
"""Orders of summation: lane l adds the terms k = l mod L; kernels.md §3.2."""


FALSE_ALARM = 1e-9
"""Probability that one evaluation refuses a correct result, if roundings are independent."""


MOST = 1 << 21
"""Products of a token that are summed up; rows beyond keep their linear bound."""


def precise(random: Sequence[int]) -> Rules:
    """The rules of `bounds`, but for products of the rows `random` of a linear's argument.

    A sum rounds each partial sum s by a number spread evenly over at most `u |s|` to either side,
    so independent roundings of s_1, s_2, ... together are sub-Gaussian with variance proxy
    `u^2 sum s_k^2 / 3`, and the error of N elements stays below
    `u sqrt(2/3 ln(2 N / FALSE_ALARM)) sqrt(sum s_k^2 + r sum t_k^2)` with all but that probability
    (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019, with the
    variance of a uniform rounding). t are the terms, each rounded r times on its way; the partial
    sums are those of the worst order of `LANES`, of all terms and of each kind (`d*q*x`, `m*x`).
    """

    def linear(x: Bounded, w: Matrix, rows: Ints | None, numerics: Numerics) -> Array:
        bound = bounds.linear(x, w, rows, numerics)
        chance = FALSE_ALARM / max(1, len(random) * w.rows)
        for token in random:
            if token >= len(x.value) or x.bound[token].any():
                continue
            (used,) = np.nonzero(x.value[token])
            if used.size == 0:
                continue
            for part in _parts(w, rows, used.size):
                tight = _tight(x.value[token, used], w, part, used, chance, numerics)
                bound[token, part] = np.fmin(bound[token, part], tight)
        return bound

    return replace(bounds.RULES, linear=linear)


def _parts(w: Matrix, rows: Ints | None, terms: int) -> list[Rows]:
    """Output rows to bound tightly, spread over all that are wanted."""
    wanted = np.arange(w.rows) if rows is None else np.asarray(rows)
    kept = wanted[:: max(1, -(-wanted.size * terms // MOST))]
    step = max(1, CHUNK // w.cols)
    return [kept[i : i + step] for i in range(0, len(kept), step)]


def _tight(
    x: Array, w: Matrix, part: Rows, used: NDArray[np.integer], chance: float, numerics: Numerics
) -> Array:
    """The bound of one token's products with some rows: (rows,)."""
    terms = w.terms(part)[:, used] * np.abs(x)
    kinds = [kind[:, used] * x for kind in w.kinds(part)]
    whole = kinds[0] if len(kinds) == 1 else np.sum(kinds, axis=0)
    squares = np.square(terms).sum(axis=-1) * (w.roundings.depth + 1)
    squares += np.max([_worst(kinds, lanes) for lanes in LANES], axis=0)
    if len(kinds) > 1:
        squares = np.maximum(squares, np.max([_worst([whole], lanes) for lanes in LANES], axis=0))
    spread = np.sqrt(2 / 3 * np.log(2 / chance) * squares)
    underflow = numerics.tiny * (used.size * len(kinds) + 1)
    bound: Array = numerics.unit * (spread + np.abs(whole.sum(axis=-1))) + underflow
    return bound


def _worst(kinds: Sequence[Array], lanes: int) -> Array:
    """The squares of all partial sums of each row, kinds summed apart and then together."""
    total = np.zeros(len(kinds[0]))
    for products in kinds:
        rows, count = products.shape
        padded = np.zeros((rows, -(-count // lanes) * lanes))
        padded[:, :count] = products
        sums = np.cumsum(padded.reshape(rows, -1, lanes), axis=1)
        total += np.square(sums).sum(axis=(1, 2))
        # The lanes' own sum, one after the other.
        total += np.square(np.cumsum(sums[:, -1, :], axis=1)).sum(axis=1) if lanes > 1 else 0.0
    together: Array = np.sum([k.sum(axis=1) for k in kinds], axis=0)
    total += np.square(together) * (len(kinds) - 1)
    return total
