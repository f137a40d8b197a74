"""A cache of these tests' own, for the runner and what they compile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAINFER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
