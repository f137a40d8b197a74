"""Modules for the tests of the spec language: parsed, and resolved by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr

from metainfer.ir.diagnostics import DiagnosticError, Place, render
from metainfer.ir.dialects import spec
from metainfer.resources import specs_dir
from metainfer.spec.frontend import parse_mispec

SMOLLM2 = {
    "layers": 30,
    "hidden": 576,
    "ffn_dim": 1536,
    "q_heads": 9,
    "kv_heads": 3,
    "head_dim": 64,
    "vocab": 49152,
    "max_context": 8192,
}


def _engine_text(lines: str) -> str:
    """An engine around `lines`, whose first line stands on line 2, column 1."""
    return f"engine tiny {{\n{lines}\n}}\n"


@pytest.fixture
def parse() -> Callable[[str], ModuleOp]:
    """Parses the lines of an engine and verifies the module."""

    def parsed(lines: str) -> ModuleOp:
        module = parse_mispec(_engine_text(lines), "tiny.mispec")
        module.verify()
        return module

    return parsed


@pytest.fixture
def complaints() -> Callable[[str], str]:
    """The rendered diagnostics for a whole file, excerpts included."""

    def rendered(text: str) -> str:
        lines = text.splitlines()

        def read(place: Place) -> str | None:
            return lines[place.line - 1] if place.line <= len(lines) else None

        with pytest.raises(DiagnosticError) as caught:
            parse_mispec(text, "x.mispec")
        return "\n".join(render(problem, read) for problem in caught.value.diagnostics)

    return rendered


@pytest.fixture
def shipped() -> Callable[[str], ModuleOp]:
    """Parses a spec that ships, under its bare file name."""

    def load(name: str) -> ModuleOp:
        path = Path(specs_dir() / f"{name}.mispec")
        return parse_mispec(path.read_text(encoding="utf-8"), path.name)

    return load


@pytest.fixture
def resolve() -> Callable[..., ModuleOp]:
    """Fills in the facts of SmolLM2-135M, some of them replaced, as `resolve-model` would."""

    def resolved(module: ModuleOp, arch: str = "llama", **facts: int) -> ModuleOp:
        model = next(op for op in module.walk() if isinstance(op, spec.ModelOp))
        model.arch = StringAttr(arch)
        values = {name: IntegerAttr(n, 64) for name, n in (SMOLLM2 | facts).items()}
        model.hparams = DictionaryAttr(values)
        return module

    return resolved
