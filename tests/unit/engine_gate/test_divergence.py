"""KL between logits, and the text that it is measured on."""

from __future__ import annotations

import numpy as np
import pytest

from metainfer.driver import divergence
from metainfer.driver.agreement import Agreement, Position
from metainfer.driver.divergence import Divergence, fixed_text


def test_kl_of_known_distributions() -> None:
    """Coins of 1/2 and 1/4: `log 2 / 2 + log(2/3) / 2`; a shift of all logits changes nothing."""
    fair, bent = np.log([[0.5, 0.5]]), np.log([[0.25, 0.75]])
    wanted = 0.5 * np.log(2) + 0.5 * np.log(2 / 3)
    assert divergence._kl(fair, bent + 7) == pytest.approx([wanted], rel=1e-12)
    assert divergence._kl(bent, bent + 1e3) == pytest.approx([0.0], abs=1e-12)


def test_kl_survives_logits_that_overflow_exp() -> None:
    far = np.array([[0.0, 5000.0], [-5000.0, 5000.0]])
    assert np.isfinite(divergence._kl(far, far[::-1])).all()


def test_the_text_is_the_one_with_the_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Apache License" in fixed_text()
    monkeypatch.setattr(divergence, "SHA256", "0" * 64)
    with pytest.raises(RuntimeError, match="is not the text with the digest"):
        fixed_text()


def test_figures_in_words() -> None:
    places = (Position("window 1", 0, 2.0, 5, 5), Position("window 1", 1, 0.5, 3, 4))
    found = Divergence((0.25, 0.75), Agreement(places))
    assert found.as_text().splitlines() == [
        "2 positions: mean KL 5.000e-01, max 7.500e-01 nats (window 1[1]), top-1 agreement 50.00%",
        "differs: window 1[1], R0 3, engine 4, gap 5.00e-01",
    ]
    assert not found.holds
