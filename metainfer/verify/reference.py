"""The interpreter's answer to a case, and the comparison with what a candidate wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.abi import signature
from metainfer.interp import exactness
from metainfer.interp.kernel import Input, evaluate
from metainfer.interp.matrix import QuantMatrix
from metainfer.interp.numerics import Bounded
from metainfer.interp.precision import precise
from metainfer.interp.rules import Rules
from metainfer.interp.state import Slots
from metainfer.ir.dialects import kernel
from metainfer.verify.binding import keys_of, output_shape, slab_shape, values_of
from metainfer.verify.cases import LARGE_WEIGHT, Case
from metainfer.verify.compare import worst_ratio
from metainfer.verify.families import RANDOM
from metainfer.verify.inputs import Inputs, Slab, place, seeded
from metainfer.verify.memory import Bytes

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int32]

GROUPS = 64
"""Row groups of a large weight that are compared per case; another choice in each."""
GROUP = 16
TIGHT = 2
"""Rows of a case whose sums get the tight bound, which costs a pass over all products."""


def compare_case(
    func: kernel.FuncOp,
    module: ModuleOp,
    case: Case,
    inputs: Inputs,
    written: Mapping[str, Bytes],
    key: str,
) -> float:
    """Worst error over bound of all results of a case; raises `KernelFault` where it is too far."""
    rows = _sampled_rows(inputs, case, key)
    wanted = None if rows is None else rows.tolist()
    rules: Rules = exactness.RULES if case.exact else precise(_random_rows(inputs))
    results = evaluate(func, module, given(func, inputs), wanted, rules=rules)
    exact = case.exact
    worst = 0.0
    for name, result in results.outputs.items():
        if isinstance(result, Bounded):
            shape = output_shape(func, name, case)
            got = written[f"out:{name}"].view("<f4").reshape(shape)
            value, bound = result.value, result.bound
            if rows is not None:
                columns = rows[rows < shape[-1]]
                got, value, bound = got[:, columns], value[:, columns], bound[:, columns]
            worst = max(worst, worst_ratio(name, got, value, bound, exact=exact))
    if inputs.slabs:
        worst = max(worst, _compare_states(func, module, inputs, results.outputs, written, exact))
    return worst


def given(func: kernel.FuncOp, inputs: Inputs) -> dict[str, Input]:
    """The inputs of a case as the interpreter takes them."""
    found: dict[str, Input] = {}
    for argument in func.arguments:
        name = argument.data
        if name in inputs.arrays:
            found[name] = inputs.arrays[name]
        elif name in inputs.weights:
            weight = inputs.weights[name]
            found[name] = QuantMatrix(weight.format, weight.raw, weight.rows, weight.cols)
        elif name in inputs.slabs:
            slab = inputs.slabs[name]
            k, v = (x[: slab.owned].astype(np.float64) for x in (slab.k, slab.v))
            found[name] = [Slots(k, v)]
        else:
            found[name] = inputs.batch
    return found


def _sampled_rows(inputs: Inputs, case: Case, key: str) -> Rows | None:
    """Rows of large weights to compare, first and last group among them; None for all."""
    if sum(w.rows * w.cols for w in inputs.weights.values()) < LARGE_WEIGHT:
        return None
    most = max(w.rows for w in inputs.weights.values())
    groups = -(-most // GROUP)
    chosen = seeded(key, case.number, "rows").choice(groups, min(GROUPS, groups), replace=False)
    chosen[0], chosen[-1] = 0, groups - 1
    numbers = (np.unique(chosen)[:, None] * GROUP + np.arange(GROUP)).reshape(-1)
    return numbers[numbers < most].astype(np.int32)


def _random_rows(inputs: Inputs) -> list[int]:
    """Rows in which every array is drawn at random: where rounding errors cancel."""
    families = list(inputs.families.values())
    count = max((len(inputs.arrays[n]) for n in inputs.families), default=0)
    random = [i for i in range(count) if all(f[i % len(f)] in RANDOM for f in families)]
    return random[:TIGHT]


def _compare_states(
    func: kernel.FuncOp,
    module: ModuleOp,
    inputs: Inputs,
    outputs: Mapping[str, Bounded | list[Slots]],
    written: Mapping[str, Bytes],
    exact: bool,
) -> float:
    """Whole slabs: written positions against the reference, all others against what they held."""
    states = [s for s in outputs.values() if isinstance(s, list)]
    sources = {a.source for a in signature(func, module) if a.writable and a.role == "state_k"}
    worst = 0.0
    for name, (slots,) in zip(sorted(sources), states, strict=True):
        slab = inputs.slabs[name]
        before = slab.variant(0)
        for role, old, value, bound in (
            ("state_k", before[0], slots.k, slots.k_bound),
            ("state_v", before[1], slots.v, slots.v_bound),
        ):
            got = _slab(written[f"{role}:{name}"], role, slab)
            want, allowed = old.astype(np.float64), np.zeros(old.shape)
            place(value, want)
            if bound is not None:
                place(bound, allowed)
            worst = max(worst, worst_ratio(f"{name}.{role[-1]}", got, want, allowed, exact=exact))
    return worst


def _slab(raw: Bytes, role: str, slab: Slab) -> Array:
    like = (slab.k if role == "state_k" else slab.v)[: slab.room]
    stored = raw.view(like.dtype).reshape(slab_shape(role, like))
    return keys_of(stored) if role == "state_k" else values_of(stored)
