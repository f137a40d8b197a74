"""A deep model of two kinds of layers makes no more code than a shallow one: layers are data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tiny_families import write_tiny_spec
from tiny_hf import GEMMA3
from tiny_pipeline import OpenGate, count_ops, run

from metainfer.codegen.c.program import model_source
from metainfer.codegen.c.sources import kernel_files
from metainfer.codegen.engine import program_of
from metainfer.driver.build import read_module
from metainfer.driver.session import compiler_context
from metainfer.ir.dialects import infer
from metainfer.ir.symbols import all_of
from metainfer.passes.pipelines import DEFAULT

DEPTHS = (30, 300)
NARROW = replace(GEMMA3, hidden=32, ffn=48, q_heads=2, kv_heads=1)


@dataclass(frozen=True)
class Run:
    """What the passes made of a model: ops after each of them, lines of C by file, layers."""

    ops: dict[str, int]
    lines: dict[str, int]
    layers: dict[str, int]
    """Layers that keep each class of state."""


def _run(layers: int, folder: Path) -> Run:
    folder.mkdir()
    spec = write_tiny_spec(folder, replace(NARROW, layers=layers), context=1024)
    ctx = compiler_context()
    # Bodies by rule; what they compute is the other tests' business, so nothing is run here.
    ctx.gate = OpenGate()
    module = read_module(spec, ctx)
    ops = {}
    for name in DEFAULT:
        run(ctx, module, name)
        ops[name] = count_ops(module)
    texts = kernel_files(module) | {"model.c": model_source(program_of(module), module)}
    states = all_of(module, infer.StateOp)
    return Run(
        ops,
        {name: text.count("\n") for name, text in texts.items()},
        {state.sym_name.data: len(list(state.layers)) for state in states},
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Run]:
    """The runs by depth."""
    folder = tmp_path_factory.mktemp("depth")
    return {layers: _run(layers, folder / str(layers)) for layers in DEPTHS}


@pytest.mark.parametrize("layers", DEPTHS)
def test_every_sixth_layer_is_global(runs: dict[int, Run], layers: int) -> None:
    assert runs[layers].layers == {"kv_local": layers * 5 // 6, "kv": layers // 6}


def test_every_stage_has_as_many_ops_at_any_depth(runs: dict[int, Run]) -> None:
    shallow, deep = (runs[n].ops for n in DEPTHS)
    print("\n".join(["", *(f"{name:<20} {shallow[name]:>5} {deep[name]:>5}" for name in DEFAULT)]))
    assert shallow == deep


def test_the_generated_c_has_as_many_lines_at_any_depth(runs: dict[int, Run]) -> None:
    shallow, deep = (runs[n].lines for n in DEPTHS)
    print("\n".join(["", *(f"{name:<20} {shallow[name]:>5} {deep[name]:>5}" for name in shallow)]))
    assert shallow == deep
