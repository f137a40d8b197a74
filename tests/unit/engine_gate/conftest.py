"""The tiny models of all families after every pass; `tests/support/planned.py` makes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from planned import FAMILIES, Planned, planned


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Planned]:
    """The models by family, each compiled once."""
    return cache(lambda name: planned(name, tmp_path_factory.mktemp(name)))


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest, tiny: Callable[[str], Planned]) -> Planned:
    """Each family in turn."""
    return tiny(request.param)


@pytest.fixture
def llama(tiny: Callable[[str], Planned]) -> Planned:
    """The smallest of them."""
    return tiny("llama")
