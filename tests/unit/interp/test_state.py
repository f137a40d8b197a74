"""The step descriptor, and states as linear values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from metainfer.interp.batch import Batch
from metainfer.interp.state import Slots, State


def rows(tokens: int, first: float = 0) -> NDArray[np.float64]:
    return (first + np.arange(tokens, dtype=np.float64))[:, None, None] * np.ones((1, 2, 3))


def kv(tokens: int, first: float = 0) -> dict[str, NDArray[np.float64]]:
    return {"k": rows(tokens, first), "v": -rows(tokens, first)}


def test_batch_of_spans() -> None:
    batch = Batch.of([([10, 11, 12], 0), ([20], 7)])
    assert (batch.tokens, batch.seqs) == (4, 2)
    assert batch.ids.tolist() == [10, 11, 12, 20]
    assert batch.pos.tolist() == batch.slot.tolist() == [0, 1, 2, 7]
    assert batch.row.tolist() == [0, 0, 0, 1]
    assert batch.q_start.tolist() == [0, 3, 4]
    assert batch.kv_len.tolist() == [3, 8]
    assert {field.dtype for field in vars(batch).values()} == {np.dtype(np.int32)}


def test_every_token_selected() -> None:
    batch = Batch.of([([10, 11], 3), ([20], 7)])
    every = batch.selecting_every_token()
    assert every.q_start.tolist() == [0, 1, 2, 3]
    assert every.row.tolist() == batch.row.tolist()
    assert (every.seqs, every.kv_len.tolist()) == (3, [4, 5, 8])


@pytest.mark.parametrize("spans", [[], [([], 0)], [([1], -1)]])
def test_batch_without_tokens_is_refused(spans: list[tuple[list[int], int]]) -> None:
    with pytest.raises(ValueError, match="at least one token"):
        Batch.of(spans)


def test_state_grows_token_by_token() -> None:
    state = State().append(4, Batch.of([([1, 2], 0), ([1], 0)]), kv(3))
    for pos in range(2, 40):
        state = state.append(4, Batch.of([([1], pos), ([1], pos - 1)]), kv(2, first=10 * pos))
    first, second = state.slots(4, 0), state.slots(4, 1)
    assert first.k[:, 0, 0].tolist() == [0, 1, *(10 * p for p in range(2, 40))]
    assert second.k[:, 0, 0].tolist() == [2, *(10 * p + 1 for p in range(2, 40))]
    assert (first.v == -first.k).all()


def test_a_replaced_state_cannot_be_used() -> None:
    old = State().append(0, Batch.of([([1], 0)]), kv(1))
    new = old.append(0, Batch.of([([1], 1)]), kv(1))
    with pytest.raises(RuntimeError, match="after an append"):
        old.slots(0, 0)
    with pytest.raises(RuntimeError, match="after an append"):
        old.append(0, Batch.of([([1], 1)]), kv(1))
    assert len(new.slots(0, 0).k) == 2


def test_a_copy_lives_on() -> None:
    state = State().append(0, Batch.of([([1], 0)]), kv(1, first=5))
    copy = state.copy()
    state.append(0, Batch.of([([1], 0)]), kv(1, first=9))
    assert copy.slots(0, 0).k[0, 0, 0] == 5


def test_slots_may_be_overwritten_but_not_skipped() -> None:
    state = State.of({(0, 0): Slots(rows(3), rows(3))})
    state = state.append(0, Batch.of([([1], 1)]), kv(1, first=7))
    assert state.slots(0, 0).k[:, 0, 0].tolist() == [0, 7, 2]
    with pytest.raises(ValueError, match="gap after 3"):
        state.append(0, Batch.of([([1], 4)]), kv(1))


def test_positions_that_came_without_a_bound_are_exact() -> None:
    state = State.of({(0, 0): Slots(rows(2), rows(2))})
    bounds = {"k_bound": rows(1, 0.5), "v_bound": rows(1, 0.25)}
    held = state.append(0, Batch.of([([1], 2)]), kv(1) | bounds).slots(0, 0)
    assert held.k_bound is not None and held.v_bound is not None
    assert held.k_bound[:, 0, 0].tolist() == [0, 0, 0.5]
    assert held.v_bound[:, 0, 0].tolist() == [0, 0, 0.25]
