"""Where a norm rounds to the activations' type: before its weight is applied, or after.

Families differ in it. In float32 the two differ by a rounding, which no comparison can tell from
any other; R0 and engines with float32 activations therefore have no such order, and a mutant of it
does not exist. In float16 it shows in a quarter of all values: what transformers computes is
pinned here, bit by bit, for activations that are not float32.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tiny_families import recording
from tiny_hf import MODELS

from metainfer.interp.numerics import F32
from metainfer.interp.ops import rms

BEFORE, AFTER = "before the weight", "after the weight"
ORDER = {"llama": BEFORE, "qwen2": BEFORE, "gemma3": AFTER}
Half = np.float16 | np.float32


def norm(family: str, order: str, type_: type[Half], rows: int) -> npt.NDArray[Half]:
    """The first norm of the first embeddings, rounded to `type_` where `order` says."""
    model = MODELS[family]
    weights = model.weights()
    x, w = (
        weights[name].astype(type_).astype(np.float64)
        for name in ("model.embed_tokens.weight", "model.layers.0.input_layernorm.weight")
    )
    gain = w + (1.0 if family == "gemma3" else 0.0)
    scaled = x[:rows] / rms(x[:rows], model.eps)
    if order == BEFORE:
        scaled, gain = (v.astype(type_).astype(np.float64) for v in (scaled, gain))
    return (scaled * gain).astype(type_)


@pytest.mark.parametrize("family", MODELS)
def test_transformers_rounds_where_the_family_says(family: str) -> None:
    wanted = recording(family).norm_f16
    found = norm(family, ORDER[family], np.float16, len(wanted))
    assert (found == wanted).all()


@pytest.mark.parametrize("family", MODELS)
def test_the_other_order_is_caught_in_half_precision(family: str) -> None:
    wanted = recording(family).norm_f16
    other = AFTER if ORDER[family] == BEFORE else BEFORE
    found = norm(family, other, np.float16, len(wanted))
    wrong = int((found != wanted).sum())
    print(f"{family}: {wrong} of {wanted.size}")
    assert wrong > wanted.size // 5


@pytest.mark.parametrize("family", MODELS)
def test_in_float32_the_orders_are_a_rounding_apart(family: str) -> None:
    rows = len(recording(family).norm_f16)
    before, after = (norm(family, o, np.float32, rows).astype(float) for o in (BEFORE, AFTER))
    # Two roundings to nearest more: of the scaled value, and of the gain.
    assert (np.abs(before - after) <= 4 * F32.unit * np.abs(after)).all()
