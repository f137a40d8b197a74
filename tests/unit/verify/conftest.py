"""Builds shared objects from hand-written bodies and runs the gate on them."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp

from metainfer.ir.dialects.infer import Infer
from metainfer.ir.dialects.kernel import FuncOp, Kernel
from metainfer.ir.symbols import all_of
from metainfer.ir.text import parse_module
from metainfer.verify.evidence import EvidenceStore
from metainfer.verify.gate import KernelGate
from metainfer.verify.verdict import Verdict

FLAGS = ("-O2", "-ffp-contract=off", "-fPIC", "-shared", "-w")
Build = Callable[[str], Path]
Verify = Callable[..., Verdict]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of these tests' own for the program that runs candidates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAINFER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def bodies() -> ModuleType:
    """The neighbouring file `bodies.py`; tests are no package."""
    spec = importlib.util.spec_from_file_location("bodies", Path(__file__).with_name("bodies.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def parse(bodies: ModuleType) -> Callable[[str], ModuleOp]:
    """A module that holds a kernel and the symbols it mentions."""

    def parsed(kernel: str) -> ModuleOp:
        context = Context()
        for dialect in (Builtin, Arith, Infer, Kernel):
            context.load_dialect(dialect)
        module = parse_module(bodies.SYMBOLS + kernel, "test.mlir", context)
        module.verify()
        return module

    return parsed


@pytest.fixture
def build(tmp_path: Path, bodies: ModuleType) -> Build:
    """Compile a body into a shared object."""

    def built(body: str) -> Path:
        source, library = tmp_path / "kernel.c", tmp_path / "kernel.so"
        source.write_text(bodies.HEADER + body)
        subprocess.run(["gcc", *FLAGS, "-o", library, source, "-lm"], check=True)
        return library

    return built


@pytest.fixture
def verify(tmp_path: Path, build: Build, parse: Callable[[str], ModuleOp]) -> Verify:
    """The verdict on a body for the only kernel of a module."""

    def verified(kernel: str, body: str, *, timeout: float = 10.0) -> Verdict:
        module = parse(kernel)
        (func,) = all_of(module, FuncOp)
        gate = KernelGate(EvidenceStore(tmp_path / "evidence"), timeout=timeout)
        name = func.sym_name.data
        return gate.verify([func], module, build(body), {name: f"key of {name}"})[name]

    return verified
