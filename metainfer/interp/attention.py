"""`infer.attend` and its error bound, one sequence at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metainfer.interp.batch import Batch
from metainfer.interp.numerics import Array, Bounded, Ints, Numerics, over_rest
from metainfer.interp.state import Slots, State


@dataclass(frozen=True)
class Heads:
    """The shape of an attention: query head h reads KV head `h / (q_heads / kv_heads)`."""

    q_heads: int
    kv_heads: int
    head_dim: int
    scale: float
    window: int | None = None
    """Tokens that a token sees, itself included; None: all before it."""

    def split(self, q: Array) -> Array:
        """(tokens, q_heads * head_dim) to (kv_heads, heads of a group * tokens, head_dim)."""
        grouped = q.reshape(len(q), self.kv_heads, -1, self.head_dim)
        return grouped.transpose(1, 2, 0, 3).reshape(self.kv_heads, -1, self.head_dim)

    def join(self, y: Array, tokens: int) -> Array:
        """The inverse of `split`."""
        grouped = y.reshape(self.kv_heads, -1, tokens, self.head_dim)
        return grouped.transpose(2, 0, 1, 3).reshape(tokens, -1)

    def per_query(self, per_token: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Repeat rows that belong to tokens for the heads of a group, in the order of `split`."""
        return np.tile(per_token, (self.q_heads // self.kv_heads, 1))


def attend(q: Array, state: State, layer: int | None, batch: Batch, heads: Heads) -> Array:
    """`y[t, h] = softmax_j(scale q[t, h] . k[j, g]) . v[j, g]`, j visible to t in its sequence."""
    y = np.empty_like(q)
    for mine, slots in _sequences(state, layer, batch):
        y[mine] = _attend(q[mine], slots, batch.pos[mine], heads)
    return y


def attend_bound(
    q: Bounded, state: State, layer: int | None, batch: Batch, heads: Heads, numerics: Numerics
) -> Array:
    """How far a correct implementation of `attend` may be off, see `_attend_bound`."""
    bound = np.empty_like(q.value)
    for mine, slots in _sequences(state, layer, batch):
        part = Bounded(q.value[mine], q.bound[mine])
        bound[mine] = _attend_bound(part, slots, batch.pos[mine], heads, numerics)
    return bound


def _sequences(
    state: State, layer: int | None, batch: Batch
) -> list[tuple[NDArray[np.bool_], Slots]]:
    """Tokens and visible slots of each sequence of the step."""
    found = []
    for seq in np.unique(batch.row):
        mine = batch.row == seq
        held, needed = state.slots(layer, int(seq)), int(batch.pos[mine].max()) + 1
        if len(held.k) < needed:
            raise ValueError(f"sequence {seq} holds {len(held.k)} positions, {needed} are read")
        found.append((mine, held.first(needed)))
    return found


def _weights(q: Array, k: Array, pos: Ints, heads: Heads) -> tuple[Array, Array]:
    """Softmax weights and scores less their maximum: (kv_heads, queries, slots); 0, -inf unseen."""
    scores = heads.scale * (heads.split(q) @ k.transpose(1, 2, 0))
    behind = pos[:, None] - np.arange(len(k))
    far = behind >= heads.window if heads.window is not None else np.zeros_like(behind, bool)
    unseen = heads.per_query((behind < 0) | far)
    scores = np.where(unseen, -np.inf, scores)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    return weights / weights.sum(axis=-1, keepdims=True), scores


def _attend(q: Array, slots: Slots, pos: Ints, heads: Heads) -> Array:
    weights, _ = _weights(q, slots.k, pos, heads)
    return heads.join(weights @ slots.v.transpose(1, 0, 2), len(q))


def _attend_bound(q: Bounded, slots: Slots, pos: Ints, heads: Heads, numerics: Numerics) -> Array:
    """Bound of softmax(scale q k) v, from the rounding of each step; D = head_dim, S = slots seen.

    - Score: D products and their sum, the scale: `gamma(D + 1) scale |q| . |k|`, plus what the
      errors of q and k contribute.
    - Each exponential, relative: its score's error, `4 + 2 |score - max|` units (the row softmax
      of kernels.md §3.3: accuracy of exp, rounding of its argument, rescaling between blocks).
      `S + 1` units for the product with v and the sum, in any order. The table has sqrt(S), a
      statistical figure that equal inputs exceed; the sum's own bound is S (Higham, §4.2).
    - Numerator and denominator each carry these errors a_j. With s = sum_j p_j a_j:
      `|y' - y| <= (sum_j p_j (|v_j| a_j + (1 + a_j) B_v) + |y| s) / (1 - s)`.
    - Two units of y for the division or multiplication by its rounded reciprocal.
    - An exponential that underflows is off by `tiny`, while the denominator is at least 1:
      `tiny sum_j (|v_j| + |y|)`.
    """
    k, v = _bounded(slots.k, slots.k_bound), _bounded(slots.v, slots.v_bound)
    weights, depth = _weights(q.value, slots.k, pos, heads)
    seen = np.isfinite(depth)
    error = _score_bound(q, k, heads, numerics) + (4 - 2 * depth) * numerics.unit
    count = seen.sum(axis=-1, keepdims=True)
    error = np.where(seen, np.expm1(error + (count + 1) * numerics.unit), 0.0)

    v_size, v_bound = np.abs(v.value).transpose(1, 0, 2), v.bound.transpose(1, 0, 2)
    y = np.abs(weights @ v.value.transpose(1, 0, 2))
    wrong = weights * error
    share = wrong.sum(axis=-1, keepdims=True)
    total = wrong @ v_size + (weights + wrong) @ v_bound + y * share
    total = over_rest(total, share)
    total += 2 * numerics.unit * (y + total)
    total += numerics.tiny * (seen.astype(np.float64) @ (v_size + v_bound) + count * y + 1)
    return heads.join(total, len(q.value))


def _bounded(value: Array, bound: Array | None) -> Bounded:
    return Bounded.exact(value) if bound is None else Bounded(value, bound)


def _score_bound(q: Bounded, k: Bounded, heads: Heads, numerics: Numerics) -> Array:
    q_size, q_bound = np.abs(heads.split(q.value)), heads.split(q.bound)
    k_size, k_bound = np.abs(k.value).transpose(1, 2, 0), k.bound.transpose(1, 2, 0)
    reached = k_size + k_bound
    rounded = numerics.gamma(heads.head_dim + 1) * ((q_size + q_bound) @ reached)
    inherited = q_size @ k_bound + q_bound @ reached
    return abs(heads.scale) * (rounded + inherited) + numerics.tiny
