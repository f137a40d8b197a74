"""Is a result as close to the reference as its bound says? No tolerance is set by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from metainfer.verify.faults import KernelFault
from metainfer.verify.verdict import Stage

F64 = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

MARGINAL = 2.0
"""Error over bound from which a kernel is rejected; above 1 it is marginal."""


def worst_ratio(name: str, got: Array, value: F64, bound: F64, *, exact: bool) -> float:
    """Largest `|got - value| / bound`, 0 where both are 0; `exact`: a bound of 0 is equality.

    Every element must first be of the reference's class (finite, NaN, inf, -inf). No element is
    dropped because of what the candidate wrote there. Raises `KernelFault` beyond `MARGINAL`.
    """
    with np.errstate(over="ignore"):
        want = value.astype(got.dtype)
    wrong = _classes(got) != _classes(want)
    reason = f"'{name}' is of another class (finite, NaN, inf, -inf) than the reference"
    _refuse("class", reason, wrong, got, value)
    if exact:
        unequal = (bound == 0) & (got != want) & ~np.isnan(want)
        _refuse("exact", f"'{name}' is inexact where nothing is rounded", unequal, got, value)
    ratios = _ratios(got, value, bound)
    worst = float(ratios.max(initial=0.0))
    reason = f"'{name}' exceeds its error bound, {worst:.3g} times at worst,"
    _refuse("bound", reason, ~(ratios <= MARGINAL), got, value, ratios)
    return worst


def _ratios(got: Array, value: F64, bound: F64) -> F64:
    finite = np.isfinite(got)
    error = np.where(finite, np.abs(got.astype(np.float64) - np.where(finite, value, 0.0)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error == 0.0, 0.0, error / bound)


def _classes(values: Array) -> npt.NDArray[np.int8]:
    kinds = np.zeros(values.shape, np.int8)
    kinds[np.isnan(values)] = 1
    kinds[np.isposinf(values)] = 2
    kinds[np.isneginf(values)] = 3
    return kinds


def _refuse(
    stage: Stage,
    reason: str,
    wrong: npt.NDArray[np.bool_],
    got: Array,
    value: F64,
    ratios: F64 | None = None,
) -> None:
    if not wrong.any():
        return
    index = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
    raise KernelFault(
        stage,
        f"{reason} in {int(wrong.sum())} of {wrong.size} elements",
        index=index,
        got=float(got[index]),
        want=float(value[index]),
        ratio=None if ratios is None else float(ratios[index]),
    )
