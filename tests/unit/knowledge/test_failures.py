"""Every `failure` contract: its mutant has the fault, its detector knows it and nothing sound."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from tiny_families import tiny_reference
from tiny_hf import MODELS
from tiny_pipeline import tiny_cache

from metainfer.codegen.c.toolchain import find_compiler
from metainfer.driver.ckb.detectors import IN_RECORDS, faults, known_failures
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Failure
from metainfer.knowledge.isa import host_isa
from metainfer.resources import ckb_dir
from metainfer.verify.mutation.operators import mutations
from metainfer.verify.mutation.subjects import Subject, subjects
from metainfer.verify.mutation.trial import Bench

__all__ = ["tiny_cache"]
KNOWLEDGE = Knowledge(ckb_dir())
FAILURES = KNOWLEDGE.all("failure", Failure)
IN_IR = [f for f in FAILURES if f.detector not in IN_RECORDS]
OF_KERNELS = [f for f in FAILURES if f.detector in IN_RECORDS]
SUBJECTS = {
    "failure/unwritten_tail": "add",
    "failure/out_of_bounds": "add",
    "failure/stale_keys": "attend",
    "failure/low_precision_sum": "linear_q8_0",
}
"""The kernel that is spoiled."""


def ids(failures: list[Failure]) -> list[str]:
    return [failure.id for failure in failures]


@cache
def family_mutants() -> ModuleType:
    """The neighbouring test module that makes them; tests are no package."""
    path = Path(__file__).parents[1] / "families" / "test_mutants.py"
    spec = importlib.util.spec_from_file_location("family_mutants", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("known", IN_IR, ids=ids(IN_IR))
def test_a_fault_in_ir_is_detected(known: Failure, tmp_path: Path) -> None:
    assert known.mutant is not None
    name = known.mutant.removeprefix("family: ")
    (mutant,) = [m for m in family_mutants().mutants() if str(m) == name]
    reference = tiny_reference(tmp_path, MODELS[mutant.family], edits=mutant.edits)
    found = list(faults(reference.module, KNOWLEDGE))
    assert [(d.message, d.help, d.severity) for d in found] == [
        (known.symptom, known.fix, "warning")
    ]
    assert found[0].notes[0].message == f"{known.id}: {known.cause}"


@pytest.mark.parametrize("family", sorted(MODELS))
def test_sound_families_have_none(family: str, tmp_path: Path) -> None:
    reference = tiny_reference(tmp_path, MODELS[family])
    assert list(faults(reference.module, KNOWLEDGE)) == []


@cache
def _subjects() -> dict[str, Subject]:
    return {subject.name: subject for subject in subjects(KNOWLEDGE)}


def _spoiled(subject: Subject, operator: str) -> Iterator[str]:
    body = "\n".join(subject.body)
    found = [m for m in mutations(body) if m.operator == operator]
    assert found, f"no site of '{operator}' in {subject.name}"
    return (mutation.apply(body) for mutation in found)


@pytest.mark.parametrize("known", OF_KERNELS, ids=ids(OF_KERNELS))
def test_a_fault_of_a_kernel_is_killed_and_recognised(known: Failure) -> None:
    """By one of the sites of the operator in the kernel, the first ones being tried."""
    assert known.mutant is not None
    subject = _subjects()[SUBJECTS[known.id]]
    bench = Bench(subject, find_compiler(), KNOWLEDGE, f"c:{host_isa(KNOWLEDGE)}")
    stages = []
    for body in _spoiled(subject, known.mutant.removeprefix("kernel: ")):
        built = bench.build(body)
        assert built is not None
        verdict = built.verdict("failures")
        assert verdict.status == "rejected" and verdict.failure is not None
        stages.append(verdict.stage)
        if known in known_failures(built.func, verdict.failure, KNOWLEDGE):
            return
    raise AssertionError(f"{known.id} looks for {known.arguments}, found {stages}")
