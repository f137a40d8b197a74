"""The step descriptor `!infer.batch` as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from metainfer.interp.numerics import Ints

Span = tuple[Sequence[int], int]
"""Token ids that continue a sequence, and the position of the first of them."""


@dataclass(frozen=True)
class Batch:
    """What a step computes, as int32 vectors (see `infer.BatchType`)."""

    ids: Ints
    pos: Ints
    row: Ints
    q_start: Ints
    kv_len: Ints
    slot: Ints

    @property
    def tokens(self) -> int:
        return len(self.ids)

    @property
    def seqs(self) -> int:
        return len(self.kv_len)

    @staticmethod
    def of(spans: Sequence[Span]) -> Batch:
        """A step that continues sequence `i` by `spans[i]`; position p is kept in slot p."""
        if not spans or any(not ids or start < 0 for ids, start in spans):
            raise ValueError("a step needs at least one token of each sequence, from position 0 on")
        lengths = [len(ids) for ids, _ in spans]
        pos = _int32([start + i for ids, start in spans for i in range(len(ids))])
        return Batch(
            ids=_int32([id_ for ids, _ in spans for id_ in ids]),
            pos=pos,
            row=_int32(np.repeat(np.arange(len(spans)), lengths)),
            q_start=_int32(np.concatenate([[0], np.cumsum(lengths)])),
            kv_len=_int32([start + len(ids) for ids, start in spans]),
            slot=pos.copy(),
        )

    def selecting_every_token(self) -> Batch:
        """The same step, except that each token counts as the last one of a sequence.

        `select_last` then keeps every token, which gives the logits at all positions; what a token
        attends to is decided by `row` and `pos` and stays the same.
        """
        return replace(
            self, q_start=_int32(np.arange(self.tokens + 1)), kv_len=_int32(self.pos + 1)
        )


def _int32(numbers: object) -> Ints:
    return np.asarray(numbers, np.int32)
