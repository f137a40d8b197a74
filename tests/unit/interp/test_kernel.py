"""One kernel at a time, as the verifier asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from metainfer.interp import bounds, ops
from metainfer.interp.batch import Batch
from metainfer.interp.kernel import Input, columns, evaluate
from metainfer.interp.matrix import QuantMatrix
from metainfer.interp.numerics import F32, Bounded
from metainfer.interp.state import Slots
from metainfer.ir.dialects.infer import FormatOp
from metainfer.ir.dialects.kernel import FuncOp
from metainfer.ir.symbols import lookup

Parse = Callable[[str], ModuleOp]
X = "tensor<?x32xf32, #infer.dims<tokens, _>>"
Y = "tensor<?x48xf32, #infer.dims<tokens, _>>"
TAIL = '{dims = #infer.ranges<tokens = 1 to 4>, parts = "rows", path = @p}'
GATE_UP = f"""
kernel.func @gate_up(%x: {X}, %g: tensor<48x32x!infer.q<"q8_0">>, %u: tensor<48x32xf32>, \
%r: {Y}) -> (y: {Y}, n: {Y}) {TAIL} {{
  %a = infer.linear %x, %g : {Y}
  %b = infer.linear %x, %u : {Y}
  %c = infer.gated_act %a, %b {{act = "silu"}} : {Y}
  %y = infer.add %c, %r : {Y}
  %d = infer.linear %x, %u : {Y}
  %n = infer.rope %d, %batch {{head_dim = 16 : i64, pairing = "half", theta = 1.0e4 : f64}} : {Y}
  kernel.return %y, %n
}}
""".replace(f"%r: {Y})", f"%r: {Y}, %batch: !infer.batch)")
KV = "tensor<?x8xf32, #infer.dims<tokens, _>>"
APPEND = f"""
infer.state @kv {{k = tensor<2x4xf16>, layers = #infer.layers<0 to 3>, v = tensor<2x4xf32>}}
kernel.func @append(%s: !infer.state<@kv>, %k: {KV}, %v: {KV}, %q: {KV}, %b: !infer.batch) -> \
(y: {KV}, s1: !infer.state<@kv>) {TAIL} {{
  %s1 = infer.state_append %s, %k, %v, %b : !infer.state<@kv>
  %y = infer.attend %q, %s1, %b {{head_dim = 4 : i64, kv_heads = 2 : i64, mask = "causal", \
q_heads = 2 : i64, scale = 5.0e-01 : f64}} : {KV}
  kernel.return %y, %s1
}}
"""


def random(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def gate_up(parse: Parse) -> tuple[ModuleOp, FuncOp, dict[str, Input]]:
    module = parse(GATE_UP)
    raw = np.random.default_rng(1).integers(0, 256, (48, 34), np.uint8)
    raw[:, 1] = 0x20
    gate = QuantMatrix(lookup(module, "q8_0", FormatOp), raw.tobytes(), 48, 32)
    given: dict[str, Input] = {
        "x": random(3, 32),
        "g": gate,
        "u": random(48, 32, seed=2),
        "r": random(3, 48, seed=3),
        "batch": Batch.of([([1, 2, 3], 0)]),
    }
    return module, lookup(module, "gate_up", FuncOp), given


def test_a_kernel_is_its_ops_one_after_the_other(parse: Parse) -> None:
    module, kernel, given = gate_up(parse)
    result = evaluate(kernel, module, given)
    assert result.dims == {"tokens": 3, "seqs": 1}
    y = cast(Bounded, result.outputs["y"])
    x = Bounded.exact(cast(NDArray[np.float32], given["x"]).astype(np.float64))
    gate = cast(QuantMatrix, given["g"])
    up_w = QuantMatrix(
        lookup(module, "f32", FormatOp), cast(NDArray[np.float32], given["u"]).tobytes(), 48, 32
    )
    a, b = (Bounded(ops.linear(x.value, w), bounds.linear(x, w, None, F32)) for w in (gate, up_w))
    silu = ops.GATES["silu"]
    c = Bounded(ops.gated_act(a.value, b.value, silu), bounds.gated_act(a, b, silu, F32))
    r = Bounded.exact(cast(NDArray[np.float32], given["r"]).astype(np.float64))
    assert (y.value == c.value + r.value).all()
    assert (y.bound == bounds.add(c, r, F32)).all()
    assert (y.bound > 0).all()


def test_sampled_rows(parse: Parse) -> None:
    module, kernel, given = gate_up(parse)
    whole, some = evaluate(kernel, module, given), evaluate(kernel, module, given, [40, 7])
    y, part = (cast(Bounded, r.outputs["y"]) for r in (whole, some))
    rows = np.array([40, 7], np.int32)
    picked = columns(part, rows)
    # The two sums differ by the order that BLAS chooses, far below what a kernel may be off.
    assert (np.abs(picked.value - y.value[:, rows]) <= 1e-6 * y.bound[:, rows]).all()
    assert np.isnan(np.delete(part.value, rows, axis=1)).all()
    assert np.isnan(np.delete(part.bound, rows, axis=1)).all()
    # What is not element by element from the linear to the output is computed whole.
    n, n_part = (cast(Bounded, r.outputs["n"]) for r in (whole, some))
    assert (n.value == n_part.value).all()


def test_states_go_in_and_out_as_arrays(parse: Parse) -> None:
    module = parse(APPEND)
    k, v = (random(5, 2, 4, seed=s).astype(np.float64) for s in (1, 2))
    held = [Slots(k.copy(), v.copy()), Slots(k[:0], v[:0])]
    given: dict[str, Input] = {
        "s": held,
        "k": random(3, 8, seed=3),
        "v": random(3, 8, seed=4),
        "q": random(3, 8, seed=5),
        "b": Batch.of([([1, 2], 4), ([1], 0)]),
    }
    result = evaluate(lookup(module, "append", FuncOp), module, given)
    first, second = cast(list[Slots], result.outputs["s1"])
    new = cast(NDArray[np.float32], given["k"]).reshape(3, 2, 4)
    assert (first.k == np.concatenate([k[:4], new[:2]])).all()
    assert (second.k == new[2:]).all()
    assert first.k_bound is not None and first.v_bound is not None
    assert (first.k_bound[:4] == 0).all() and (first.k_bound[4:] > 0).all()
    assert (first.v_bound == 0).all()
    assert (held[0].k == k).all() and len(held[0].k) == 5
    y = cast(Bounded, result.outputs["y"])
    assert (y.value[2] == np.float64(cast(NDArray[np.float32], given["v"])[2])).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": random(3, 31)}, "got 31 where 32 is 32"),
        ({"x": random(2, 32)}, "where tokens is 2"),
        ({"z": random(2, 32)}, "arguments are x, g, u, r, batch"),
        ({"u": Batch.of([([1, 2, 3], 0)])}, "got Batch"),
        ({"r": random(48)}, "shape"),
    ],
)
def test_inputs_must_fit(parse: Parse, change: dict[str, Input], message: str) -> None:
    module, kernel, given = gate_up(parse)
    with pytest.raises(ValueError, match=message):
        evaluate(kernel, module, given | change)
