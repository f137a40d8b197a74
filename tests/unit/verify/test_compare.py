"""The comparator has no wildcard: NaN, infinities, zeros and signs all count."""

from __future__ import annotations

import numpy as np
import pytest

from metainfer.verify.compare import worst_ratio
from metainfer.verify.faults import KernelFault

INF, NAN = float("inf"), float("nan")


def ratio(got: list[float], want: list[float], bound: list[float], exact: bool = False) -> float:
    return worst_ratio("y", np.array(got, np.float32), np.array(want), np.array(bound), exact=exact)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        ([NAN], [0.0]),
        ([0.0], [NAN]),
        ([NAN, NAN], [1.0, 1.0]),
        ([INF], [-INF]),
        ([-INF], [INF]),
        ([INF], [NAN]),
        ([NAN], [INF]),
        ([INF], [1.0]),
        ([3e38], [INF]),
        ([3e38], [1e40]),
    ],
)
def test_other_class_is_refused_whatever_the_bound(got: list[float], want: list[float]) -> None:
    with pytest.raises(KernelFault) as caught:
        ratio(got, want, [INF] * len(got))
    assert caught.value.stage == "class"
    assert caught.value.index == (0,)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_same_class_passes(value: float) -> None:
    assert ratio([value], [value], [NAN]) == 0.0


def test_reference_beyond_float32_is_infinite() -> None:
    assert ratio([INF], [1e40], [1.0]) == 0.0


def test_largest_ratio_counts() -> None:
    assert ratio([1.0, 2.0, 3.0], [1.0, 2.5, 2.0], [1.0, 1.0, 1.0]) == 1.0
    assert ratio([2.0], [0.5], [1.0]) == 1.5


def test_beyond_twice_the_bound_is_refused() -> None:
    with pytest.raises(KernelFault) as caught:
        ratio([0.0, 0.0, 0.0], [0.0, 0.25, 4.0], [0.1, 0.1, 1.0])
    fault = caught.value
    assert (fault.stage, fault.index, fault.got, fault.want) == ("bound", (1,), 0.0, 0.25)
    assert fault.ratio == 2.5


@pytest.mark.parametrize("bound", [0.0, NAN])
def test_error_without_a_bound_is_refused(bound: float) -> None:
    """Zeros do not pass where the reference is small, and no bound means equality."""
    assert ratio([1.0], [1.0], [bound]) == 0.0
    with pytest.raises(KernelFault):
        ratio([0.0], [1e-30], [bound])


def test_exact_demands_equality() -> None:
    assert ratio([3.0, -0.0], [3.0, 0.0], [0.0, 9.0], exact=True) == 0.0
    with pytest.raises(KernelFault) as caught:
        ratio([3.0], [4.0], [0.0], exact=True)
    assert caught.value.stage == "exact"
