"""Families of input values: what each is there to expose.

A tensor's rows take the families in turn, so that one call meets several of them and a kernel that
looks at a few rows only is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
Rng = np.random.Generator

NONZEROS = 16


def _normal(rng: Rng, n: int) -> F32:
    return rng.standard_normal(n, np.float32)


def _offset(rng: Rng, n: int) -> F32:
    """A large common term: what is subtracted or added once per block shows."""
    return (100.0 + rng.standard_normal(n)).astype(np.float32)


def _alternating(rng: Rng, n: int) -> F32:
    """Neighbours cancel: a dropped or doubled term is not hidden by the sum."""
    sign = np.where(np.arange(n) % 2, -1.0, 1.0)
    return np.asarray(sign * (10.0 + rng.standard_normal(n)), np.float32)


def _sparse(rng: Rng, n: int) -> F32:
    """Few terms, the first and the last among them: precision loss shows at any length."""
    row = np.zeros(n, np.float32)
    chosen = rng.choice(n, min(NONZEROS, n), replace=False)
    chosen[0], chosen[-1] = 0, n - 1
    row[chosen] = rng.standard_normal(chosen.size) + np.float32(3.0)
    return row


def _tiny(rng: Rng, n: int) -> F32:
    """An epsilon in a norm matters here."""
    return np.float32(1e-4) * rng.standard_normal(n, np.float32)


def _large(rng: Rng, n: int) -> F32:
    return np.float32(1e3) * rng.standard_normal(n, np.float32)


def _zeros(rng: Rng, n: int) -> F32:
    return np.zeros(n, np.float32)


def _one_hot(rng: Rng, n: int) -> F32:
    row = np.zeros(n, np.float32)
    row[rng.integers(n)] = 1.0
    return row


def _exact(rng: Rng, n: int) -> F32:
    """Small integers, never zero: sums of products are exact, a dropped term is a whole number."""
    return rng.choice(np.array([-2, -1, 1, 2], np.float32), n)


def _saturating(rng: Rng, n: int) -> F32:
    """Where `exp` overflows or vanishes, signed zeros, subnormals."""
    edges = np.array(
        [88.0, -88.0, 89.0, -89.0, 104.0, -104.0, 1e4, -1e4, 0.0, -0.0, 1e-40, -1e-40, 20.0, -20.0],
        np.float32,
    )
    return np.resize(np.roll(edges, int(rng.integers(edges.size))), n)


FAMILIES: Mapping[str, Callable[[Rng, int], F32]] = {
    "normal": _normal,
    "offset": _offset,
    "alternating": _alternating,
    "sparse": _sparse,
    "tiny": _tiny,
    "large": _large,
    "zeros": _zeros,
    "one_hot": _one_hot,
    "exact": _exact,
    "saturating": _saturating,
}

GENERAL = ("normal", "sparse", "offset", "alternating", "tiny", "large", "zeros", "one_hot")
"""What every f32 input gets; an activation's argument gets `saturating` as well."""


RANDOM = ("normal", "sparse", "tiny", "large")
"""Families whose terms are drawn at random, so that rounding errors of their sums cancel."""


def rows(rng: Rng, shape: tuple[int, ...], names: tuple[str, ...]) -> F32:
    """A tensor whose row i is of family `names[i % len(names)]`; a vector is one row."""
    count, n = (1, shape[0]) if len(shape) == 1 else (shape[0], int(np.prod(shape[1:])))
    values = np.stack([FAMILIES[names[i % len(names)]](rng, n) for i in range(count)])
    return np.ascontiguousarray(values.reshape(shape), np.float32)
