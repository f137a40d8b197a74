"""The tiny engine as fixtures; `tiny_engine.py` makes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))  # for tiny_engine, which the tests here import too

from tiny_engine import VOCAB, Build, import_build, set_weights, write_build

from metainfer.codegen.host.emit import FEATURES


@pytest.fixture(scope="session")
def make_build(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Build]:
    """Builds an engine with some features and compiler flags, once each."""
    made: dict[tuple[object, ...], Build] = {}

    def make(features: Sequence[str], *flags: str) -> Build:
        key = (tuple(sorted(features)), flags)
        if key not in made:
            name = f"tiny{len(made)}"
            root = tmp_path_factory.mktemp(name)
            made[key] = import_build(write_build(root, name, features, *flags), name)
        return made[key]

    return make


@pytest.fixture(scope="session")
def build(make_build: Callable[..., Build]) -> Build:
    """The engine with every feature."""
    return make_build(sorted(FEATURES))


@pytest.fixture
def engine(build: Build) -> Iterator[object]:
    set_weights(build.root, np.zeros(VOCAB, np.float32))
    with build.package.Engine(threads=2) as opened:
        yield opened
