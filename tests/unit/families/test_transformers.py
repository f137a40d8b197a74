"""R0 of tiny random models of every family against transformers, at every position."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_families import WITHIN, r0_logits, recording, tiny_reference
from tiny_hf import MODELS, POSITIONS

FAMILIES = tuple(MODELS)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_recording_is_of_these_weights(family: str) -> None:
    recorded = recording(family)
    assert recorded.weights_sha256 == MODELS[family].digest()
    assert recorded.ids == MODELS[family].ids(POSITIONS[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_at_every_position(family: str, tmp_path: Path) -> None:
    recorded = recording(family)
    found = r0_logits(tiny_reference(tmp_path, MODELS[family]), recorded.ids)
    assert found.shape == recorded.logits.shape
    off = np.abs(found - recorded.logits).max()
    print(f"{family}: {off:.1e} over logits of spread {recorded.logits.std():.2f}")
    assert off <= WITHIN


@pytest.mark.parametrize("family", FAMILIES)
def test_the_models_hide_nothing(family: str) -> None:
    """Norms are not 1 and biases not 0, no size stands for another, the answers have variety."""
    model = MODELS[family]
    vectors = [v for v in model.converted().values() if v.ndim == 1]
    assert all(v.std() > 0.1 for v in vectors)
    kv_dim = model.kv_heads * model.head_dim
    assert len({model.hidden, model.ffn, kv_dim, model.vocab}) == 4
    assert len({int(row.argmax()) for row in recording(family).logits}) > 40
    assert POSITIONS["gemma3"] > 8 * MODELS["gemma3"].window
