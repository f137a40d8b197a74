"""The near-tie rule and the error of a layer, on figures made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from metainfer.driver.agreement import MOST_EXCLUDED, NEAR_TIE, Agreement, LayerError, judged

CLEAR = [[7, 2.0], [3, 1.0]]
# 2**-10 is just below the limit and 2**-9 above it; both are exact.
CLOSE = [[7, 1 + 2.0**-10], [3, 1.0]]
APART = [[7, 1 + 2.0**-9], [3, 1.0]]


def agreement(*cases: tuple[list[list[float]], int]) -> Agreement:
    return Agreement(tuple(judged("p", [top for top, _ in cases], [token for _, token in cases])))


def test_the_limit_lies_between_the_cases() -> None:
    assert 2.0**-10 < NEAR_TIE < 2.0**-9


def test_all_agree() -> None:
    found = agreement(*[(CLEAR, 7)] * 50)
    assert found.holds
    assert (found.agreed, found.excluded, found.different) == (50, [], [])


@pytest.mark.parametrize("top", [CLEAR, APART])
def test_one_other_token_is_a_difference(top: list[list[float]]) -> None:
    found = agreement(*[(CLEAR, 7)] * 99, (top, 3))
    assert not found.holds
    assert [(p.prompt, p.index, p.reference, p.engine) for p in found.different] == [
        ("p", 99, 7, 3)
    ]


@pytest.mark.parametrize("token", [7, 3])
def test_a_near_tie_is_listed_and_does_not_count_either_way(token: int) -> None:
    found = agreement(*[(CLEAR, 7)] * 99, (CLOSE, token))
    assert found.holds
    assert found.agreed == 99
    assert [(p.index, p.gap, p.engine) for p in found.excluded] == [(99, 2.0**-10, token)]


@pytest.mark.parametrize(("ties", "holds"), [(2, True), (3, False)])
def test_too_many_near_ties_prove_nothing(ties: int, holds: bool) -> None:
    assert MOST_EXCLUDED == 0.02
    found = agreement(*[(CLEAR, 7)] * (100 - ties), *[(CLOSE, 7)] * ties)
    assert found.holds is holds


def test_nothing_compared_does_not_hold() -> None:
    assert not agreement().holds


def test_every_position_needs_a_token() -> None:
    with pytest.raises(ValueError, match="shorter"):
        list(judged("p", [CLEAR, CLEAR], [7]))


def test_the_error_of_a_layer_is_relative_to_the_whole_and_the_worst_token_to_itself() -> None:
    off = LayerError()
    off.add(np.array([[3.0, 4.0]], np.float32), np.array([[3.0, 4.0]]))
    off.add(np.array([[0.0, 2.0]], np.float32), np.array([[0.0, 1.0]]))
    assert off.relative_rms == pytest.approx(np.sqrt(1 / 26))
    assert off.worst_token == 1.0
