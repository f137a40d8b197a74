"""Whole functions: against a plain NumPy Llama on gguf's weights, and against themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from metainfer.interp.batch import Batch
from metainfer.interp.numerics import F64, Bounded
from metainfer.interp.run import Interpreter
from metainfer.interp.state import State
from metainfer.interp.weights import load_weight
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects.infer import FormatOp, WeightOp
from metainfer.ir.symbols import lookup

Llama = Any
Array = NDArray[np.float64]
IDS = [3, 14, 15, 9, 26, 5, 35]
SCALE = 0.35


def plain_llama(model: Llama, ids: list[int], order: tuple[int, ...] = (0, 1)) -> Array:
    """Logits after the last token, written from the formulas of Llama alone."""
    s = model.shape

    def norm(x: Array, name: str) -> Array:
        return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + s.eps) * model.weights[name]

    def turn(x: Array) -> Array:
        half = s.head_dim // 2
        z = x[..., :half] + 1j * x[..., half:]
        angle = np.outer(np.arange(len(x)), s.theta ** (-np.arange(half) / half))
        z = z * np.exp(1j * angle)[:, None]
        return np.concatenate([z.real, z.imag], axis=2)

    x = model.weights["token_embd"][ids].astype(np.float64)
    for layer in order:
        w = {k.split(".")[2]: v for k, v in model.weights.items() if k.startswith(f"blk.{layer}.")}
        h = norm(x, f"blk.{layer}.attn_norm")
        q = turn((h @ w["attn_q"].T).reshape(len(ids), s.q_heads, s.head_dim))
        k = turn((h @ w["attn_k"].T).reshape(len(ids), s.kv_heads, s.head_dim))
        v = (h @ w["attn_v"].T).reshape(len(ids), s.kv_heads, s.head_dim)
        a = np.zeros_like(q)
        for t, head in np.ndindex(len(ids), s.q_heads):
            group = head // (s.q_heads // s.kv_heads)
            p = np.exp(SCALE * k[: t + 1, group] @ q[t, head])
            a[t, head] = p @ v[: t + 1, group] / p.sum()
        x = x + a.reshape(len(ids), -1) @ w["attn_output"].T
        h = norm(x, f"blk.{layer}.ffn_norm")
        gate, up = h @ w["ffn_gate"].T, h @ w["ffn_up"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w["ffn_down"].T
    return (norm(x, "output_norm") @ model.weights["token_embd"].T)[-1]


def logits(model: Llama, spans: list[tuple[list[int], int]], state: State) -> tuple[Bounded, State]:
    interpreter = Interpreter(model.module, model.source, "magnitude", numerics=F64)
    result, state = interpreter.run("forward", Batch.of(spans), state)
    return cast(Bounded, result), state


def agree(a: Bounded, b: Bounded) -> bool:
    """Whether both can stand for one exact value."""
    return bool((np.abs(a.value - b.value) <= a.bound + b.bound).all())


def test_stored_weights_are_exact_in_float32(llama: Llama) -> None:
    """The next tests rely on it: gguf's float32 weights are then the ones that we decode."""
    for weight in llama.module.ops:
        if not isinstance(weight, WeightOp):
            continue
        for layer in weight.layers or [None]:
            ours = load_weight(
                weight, layer, llama.source, lambda n: lookup(llama.module, n, FormatOp)
            )
            values = ours if isinstance(ours, np.ndarray) else ours.values(slice(None))
            assert (values == llama.weights[weight.tensor_name(layer)]).all()


def test_a_weight_that_is_not_per_layer_has_no_layer(llama: Llama) -> None:
    asked = []

    class Source:
        def raw(self, weight: WeightOp, layer: int | None) -> bytes:
            asked.append(layer)
            return cast(bytes, llama.source.raw(weight, layer))

    for name in ("output_norm", "attn_norm"):
        weight = lookup(llama.module, name, WeightOp)
        load_weight(weight, 1, Source(), lambda n: lookup(llama.module, n, FormatOp))
    assert asked == [None, 1]


def test_forward_is_llama(llama: Llama) -> None:
    ours, _ = logits(llama, [(IDS, 0)], State())
    assert (np.abs(ours.value - plain_llama(llama, IDS)) <= ours.bound).all()
    assert (np.abs(ours.value - plain_llama(llama, IDS, (1, 0))) > ours.bound).any()
    assert (np.abs(ours.value - plain_llama(llama, [4, *IDS[1:]])) > ours.bound).any()


def test_token_by_token_is_prefill(llama: Llama) -> None:
    whole, _ = logits(llama, [(IDS, 0)], State())
    state = State()
    for pos, token in enumerate(IDS):
        stepped, state = logits(llama, [([token], pos)], state)
    assert agree(stepped, whole)
    chunked, state = logits(llama, [(IDS[:3], 0)], State())
    chunked, state = logits(llama, [(IDS[3:], 3)], state)
    assert agree(chunked, whole)
    shifted, state = logits(llama, [(IDS[:3], 0)], State())
    shifted, state = logits(llama, [(IDS[4:], 3)], state)
    assert not agree(shifted, whole)


def test_sequences_side_by_side_do_not_meet(llama: Llama) -> None:
    other = [7, 8]
    both, state = logits(llama, [(IDS[:4], 0), (other, 0)], State())
    both, _ = logits(llama, [(IDS[4:], 4), ([1], 2)], state)
    alone, _ = logits(llama, [(IDS, 0)], State())
    second, _ = logits(llama, [([*other, 1], 0)], State())
    together = Bounded(np.vstack([alone.value, second.value]), np.vstack([alone.bound] * 2))
    assert agree(both, together)


def test_groups_and_kernels_change_nothing(llama: Llama) -> None:
    results = [
        Interpreter(module, llama.source).run("forward", Batch.of([(IDS, 0)]), State())[0]
        for module in (llama.module, llama.grouped, llama.called)
    ]
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


def test_cache_changes_nothing(llama: Llama) -> None:
    plain = Interpreter(llama.module, llama.source)
    cached = Interpreter(llama.module, llama.source, cache_bytes=1 << 20)
    batch = Batch.of([(IDS, 0)])
    want = plain.run("forward", batch, State())[0]
    for _ in range(2):
        assert (cached.run("forward", batch, State())[0] == want).all()


def test_values_are_the_same_in_both_modes(llama: Llama) -> None:
    value = Interpreter(llama.module, llama.source).run("forward", Batch.of([(IDS, 0)]), State())
    bounded, _ = logits(llama, [(IDS, 0)], State())
    assert (value[0] == bounded.value).all()


def test_observer_sees_every_value_of_every_layer(llama: Llama) -> None:
    seen: dict[tuple[str, int | None], Any] = {}
    interpreter = Interpreter(
        llama.module, llama.source, observe=lambda *what: seen.update({what[:2]: what[2]})
    )
    interpreter.run("forward", Batch.of([(IDS, 0)]), State())
    assert seen["q1", 0].shape == (7, 64) and (seen["q1", 0] != seen["q1", 1]).any()
    assert (seen["@layer", 1] == seen["y", None]).all()
    assert (seen["x2", 0] == seen["@layer", 0]).all()


def test_one_layer_alone(llama: Llama) -> None:
    interpreter = Interpreter(llama.module, llama.source)
    x = np.random.default_rng(0).normal(size=(2, 96))
    batch = Batch.of([([1, 2], 0)])
    first, state = interpreter.run("layer", x, batch, State(), layer=1)
    assert cast(Array, first).shape == (2, 96)
    assert cast(State, state).keys() == [(1, 0)]


X8 = "tensor<?x8xf32, #infer.dims<tokens, _>>"
FUNCTION = f"""
func.func @f(%x: {X8}) -> {X8} {{
  BODY
  func.return %y : {X8}
}}
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"%y = arith.addf %x, %x : {X8}", "no meaning for"),
        (f"%y = kernel.call @g, %x : {X8}", r"no kernel\.func @g"),
        (
            f"""%w = infer.weight_ref @w : tensor<8xf32>
  %y = infer.rms_norm %x, %w {{eps = 1.0 : f64}} : {X8}""",
            "reads weights",
        ),
    ],
)
def test_what_cannot_be_run_is_said_with_its_place(
    parse: Callable[[str], ModuleOp], body: str, message: str
) -> None:
    module = parse(FUNCTION.replace("BODY", body))
    with pytest.raises(DiagnosticError, match=message) as caught:
        Interpreter(module).run("f", np.zeros((1, 8)))
    assert caught.value.diagnostics[0].place is not None


def test_unknown_function_and_layer(llama: Llama) -> None:
    interpreter = Interpreter(llama.module, llama.source)
    with pytest.raises(DiagnosticError, match=r"no func\.func @forwerd") as caught:
        interpreter.run("forwerd")
    assert caught.value.diagnostics[0].help == "did you mean 'forward'?"
    with pytest.raises(DiagnosticError, match="has no layer 2"):
        interpreter.run("layer", np.zeros((1, 96)), Batch.of([([1], 0)]), State(), layer=2)
    with pytest.raises(ValueError, match="3 arguments wanted, 1 given"):
        interpreter.run("layer", np.zeros((1, 96)), layer=0)
