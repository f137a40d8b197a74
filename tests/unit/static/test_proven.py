"""Bodies that are right: the rules' own, and others'."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

import pytest
from kernels import HONEST, KERNELS, SYMBOLS
from tiny_pipeline import TWO_KINDS, OpenGate, Stages, write_model
from xdsl.dialects.builtin import ArrayAttr, StringAttr

from metainfer.driver.providers import RuleProvider
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.ir.text import parse_module
from metainfer.passes.context import CompilerContext
from metainfer.verify.mutation.subjects import Subject
from metainfer.verify.static.check import check_accesses, check_kernels
from metainfer.verify.static.values import Finding

Check = Callable[[str, str], list[Finding]]
SUBJECTS = (
    "linear_q4_1 linear_q8_0 linear_q5_0_bias linear_q4_k linear_q6_k linear_f16 qkv embed rms_norm"
    " rms_norm_heads rope_half rope_interleaved append append_ring attend attend_window silu gelu"
    " add scale select_last"
).split()
OTHERS = [
    (folder.name, file.name.removesuffix(".c"))
    for folder in (files("metainfer.verify.mutation") / "correct").iterdir()
    for file in folder.iterdir()
]


def test_all_subjects_are_listed(known: dict[str, Subject]) -> None:
    assert list(known) == SUBJECTS


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_rules_bodies(name: str, known: dict[str, Subject], check: Check) -> None:
    assert check(name, "\n".join(known[name].body)) == []


@pytest.mark.parametrize(("name", "way"), sorted(OTHERS))
def test_other_ways_to_compute_the_same(name: str, way: str, check: Check) -> None:
    file = files("metainfer.verify.mutation") / "correct" / name / f"{way}.c"
    assert check(name, file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", KERNELS)
def test_scalar_bodies(name: str) -> None:
    module = parse_module(SYMBOLS + KERNELS[name], "test.mlir", CompilerContext())
    (func,) = all_of(module, kernel.FuncOp)
    func.body = ArrayAttr([StringAttr(line) for line in HONEST[name].split("\n")])
    assert check_accesses(func, module) == []


def test_all_kernels_of_an_engine() -> None:
    ctx = CompilerContext()
    ctx.providers, ctx.gate = (RuleProvider(ctx.knowledge),), OpenGate()
    module = Stages(write_model(TWO_KINDS), ctx).after("fill-kernels")
    kernels = all_of(module, kernel.FuncOp)
    found = check_kernels(kernels, module)
    assert found == {f.sym_name.data: [] for f in kernels}
    assert {f.sym_name.data: check_accesses(f, module) for f in kernels} == found


def test_what_only_some_ranges_allow_is_found_in_the_others() -> None:
    """A body for at least 5 tokens, in two entries of which one has fewer."""
    texts = [
        KERNELS["add"].replace("@add", f"@{name}").replace("1 to 40", f"{first} to 40")
        for name, first in (("few", 1), ("many", 5))
    ]
    module = parse_module(SYMBOLS + "".join(texts), "test.mlir", CompilerContext())
    kernels = all_of(module, kernel.FuncOp)
    for func in kernels:
        func.body = ArrayAttr([StringAttr("y[4 * 24 + 23] = a[0];")])
    found = check_kernels(kernels, module)
    assert [bool(found[name]) for name in ("few", "many")] == [True, False]
