"""A model of 300 layers makes no more code than one of 30: layers are data."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "support"))

from tiny_llama import TinyLlama
from tiny_pipeline import OpenGate, count_ops, run, tiny_cache, write_model

from metainfer.codegen.c.program import model_source
from metainfer.codegen.c.sources import kernel_files
from metainfer.codegen.engine import program_of
from metainfer.driver.build import read_module
from metainfer.driver.session import compiler_context
from metainfer.passes.context import CompilerContext
from metainfer.passes.pipelines import DEFAULT

__all__ = ["tiny_cache"]

DEPTHS = (30, 300)


@dataclass(frozen=True)
class Run:
    """What the passes made of a model: ops after each of them, and lines of C by file."""

    ops: dict[str, int]
    lines: dict[str, int]
    seconds: float


def _context() -> CompilerContext:
    """Bodies by rule; what they compute is the other tests' business, so nothing is run here."""
    ctx = compiler_context()
    ctx.gate = OpenGate()
    return ctx


def _run(layers: int) -> Run:
    formats = {"token_embd": "q8_0", "ffn_down.7": "q8_0"}
    spec = write_model(
        TinyLlama(layers=layers, hidden=32, ffn=64, q_heads=2, kv_heads=1, formats=formats)
    )
    ctx = _context()
    start = time.perf_counter()
    module = read_module(spec, ctx)
    ops = {}
    for name in DEFAULT:
        run(ctx, module, name)
        ops[name] = count_ops(module)
    texts = kernel_files(module) | {"model.c": model_source(program_of(module), module)}
    seconds = time.perf_counter() - start
    return Run(ops, {name: text.count("\n") for name, text in texts.items()}, seconds)


@pytest.fixture(scope="module")
def runs() -> dict[int, Run]:
    """The runs by depth; the first one also pays for imports, so it is made twice."""
    _run(DEPTHS[0])
    return {layers: _run(layers) for layers in DEPTHS}


def test_every_stage_has_as_many_ops_at_any_depth(runs: dict[int, Run]) -> None:
    shallow, deep = (runs[n].ops for n in DEPTHS)
    print("\n".join(["", *(f"{name:<20} {shallow[name]:>5} {deep[name]:>5}" for name in DEFAULT)]))
    assert shallow == deep


def test_the_generated_c_has_as_many_lines_at_any_depth(runs: dict[int, Run]) -> None:
    shallow, deep = (runs[n].lines for n in DEPTHS)
    print("\n".join(["", *(f"{name:<20} {shallow[name]:>5} {deep[name]:>5}" for name in shallow)]))
    assert shallow == deep
    print(*(f"{n} layers: {runs[n].seconds:.2f} s without gate and packing" for n in DEPTHS))
