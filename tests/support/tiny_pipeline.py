"""The passes on a tiny model: a module after any of them, with or without a C compiler."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from tiny_llama import TinyLlama, write_spec
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.cli.pipeline import parse_passes
from metainfer.driver.build import read_module
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.passes.context import Body, CompilerContext
from metainfer.passes.manager import run_passes
from metainfer.passes.pipelines import DEFAULT, PASSES


class OpenGate:
    """Admits every kernel, but for those in `refuse`, which it refuses once each."""

    def __init__(self, refuse: Mapping[str, str] | None = None) -> None:
        self.refuse = dict(refuse or {})

    def keys(self, module: ModuleOp) -> dict[str, str]:
        """A key per kernel that shows its body."""
        return {
            f.sym_name.data: " ".join(line.data for line in f.body or ())
            for f in all_of(module, kernel.FuncOp)
        }

    def admit(self, module: ModuleOp) -> dict[str, str]:
        """Reasons for what is still to be refused."""
        refused, self.refuse = self.refuse, {}
        return refused


class Writer:
    """Writes the same line for every kernel, or for the `only` one."""

    def __init__(self, name: str = "test", only: str | None = None) -> None:
        self.name, self.only = name, only

    def propose(self, func: kernel.FuncOp, module: ModuleOp) -> Body | None:
        """One line that names its writer."""
        if self.only not in (None, func.sym_name.data):
            return None
        return Body((f"/* {self.name} */",), "c:generic", self.name)


def fake_context() -> CompilerContext:
    """A context whose bodies are comments that a gate admits unseen."""
    ctx = CompilerContext()
    ctx.providers, ctx.gate = (Writer(),), OpenGate()
    return ctx


def run(ctx: CompilerContext, module: ModuleOp, passes: str) -> ModuleOp:
    """Run passes as `metainfer-opt -p` names them, on `module` itself."""
    run_passes(ctx, module, parse_passes(passes, PASSES))
    return module


def complaint(ctx: CompilerContext, module: ModuleOp, passes: str) -> str:
    """The messages of the diagnostics that running `passes` raises, one a line."""
    with pytest.raises(DiagnosticError) as caught:
        run(ctx, module, passes)
    return "\n".join(d.message for d in caught.value.diagnostics)


class Stages:
    """A spec's module after each pass of the default pipeline."""

    def __init__(self, spec: Path, ctx: CompilerContext) -> None:
        self.spec, self.ctx = spec, ctx
        self._modules = {"": read_module(spec, ctx)}

    def after(self, name: str) -> ModuleOp:
        """A copy of the module after the pass `name`; the empty name is before all passes."""
        if name not in self._modules:
            number = DEFAULT.index(name)
            module = self.after(DEFAULT[number - 1] if number else "")
            self._modules[name] = run(self.ctx, module, name)
        return self._modules[name].clone()

    def before(self, name: str) -> ModuleOp:
        """A copy of the module as the pass `name` finds it."""
        number = DEFAULT.index(name)
        return self.after(DEFAULT[number - 1] if number else "")


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tiny-llama-")


def write_model(model: TinyLlama, *, lines: str = "") -> Path:
    """The spec of a model in a folder of its own that lasts as long as the tests."""
    folder = Path(tempfile.mkdtemp(dir=_folder().name))
    return write_spec(folder, model, lines=lines)


@cache
def tiny_stages() -> Stages:
    """The default tiny model under `fake_context`."""
    return Stages(write_model(TinyLlama()), fake_context())


TWO_KINDS = TinyLlama(
    layers=5,
    hidden=64,
    ffn=96,
    q_heads=4,
    formats={
        "token_embd": "q8_0",
        "ffn_down.1": "q8_0",
        "ffn_down.3": "q8_0",
        "ffn_down.4": "q8_0",
    },
    head=True,
)
"""Layers 0 and 2 have one set of formats, layers 1, 3 and 4 another."""


@cache
def two_kinds_stages() -> Stages:
    """A model with two kinds of layers and its own output matrix, under `fake_context`."""
    return Stages(write_model(TWO_KINDS), fake_context())


def named(module: ModuleOp, name: str) -> list[Operation]:
    """All ops of one name, in order."""
    return [op for op in module.walk() if op.name == name]


def detach(op: Operation) -> None:
    """Take an op out of its block."""
    op.detach()


def count_ops(module: ModuleOp) -> int:
    """Ops in the module, itself not counted."""
    return sum(1 for _ in module.walk()) - 1


@pytest.fixture(scope="module", autouse=True)
def tiny_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all tiny builds of this run: each kernel is verified once.

    Only set while a module that uses it runs; other tests keep theirs.
    """
    path = tmp_path_factory.getbasetemp() / "tiny-cache"
    before = os.environ.get("METAINFER_CACHE")
    os.environ["METAINFER_CACHE"] = str(path)
    yield path
    del os.environ["METAINFER_CACHE"]
    if before is not None:
        os.environ["METAINFER_CACHE"] = before
