"""The quickstart engine, compiled once per test session from the real model."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from metainfer.driver.build import CompileOptions, compile_spec
from metainfer.resources import specs_dir

QUICKSTART = specs_dir() / "quickstart.mispec"


@dataclass(frozen=True)
class Build:
    """A build folder and its engine's package, imported."""

    folder: Path
    package: ModuleType

    @property
    def engine(self) -> Path:
        """The engine's package folder."""
        return self.folder / self.package.__name__


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Build]:
    """The engine of `specs/quickstart.mispec`."""
    folder = tmp_path_factory.mktemp("quickstart") / "build"
    compile_spec(QUICKSTART, folder, CompileOptions(), lambda message: None)
    sys.path.insert(0, str(folder))
    try:
        yield Build(folder, importlib.import_module("quickstart"))
    finally:
        sys.path.remove(str(folder))
