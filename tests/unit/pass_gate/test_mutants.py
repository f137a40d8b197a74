"""The mutation engine of passes and contracts, and a small fixed sample of its report."""

from __future__ import annotations

import ast
import os
import time
from pathlib import Path
from random import Random

import pytest
from pass_mutants import write_family

from metainfer.driver.mutation import pool
from metainfer.driver.mutation.contract_operators import contract_mutants
from metainfer.driver.mutation.mutant import Mutant, replacing
from metainfer.driver.mutation.passes import (
    SEED,
    SOURCES,
    Bench,
    Outcome,
    PassReport,
    put_to_the_gates,
    sampled,
)
from metainfer.driver.mutation.source_operators import source_mutants
from metainfer.driver.mutation.trial import SAME, SURVIVED, Verdict
from metainfer.resources import ckb_dir

SAMPLE = 6
PASSES = Path(__file__).parents[3] / "metainfer"


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one subject."""
    folder = tmp_path_factory.mktemp("subjects")
    write_family(folder, "llama")
    return folder


@pytest.fixture(scope="module")
def bench(subjects: Path) -> Bench:
    """The unchanged compiler on the subject."""
    return Bench.of(subjects)


def verdict(bench: Bench, mutant: Mutant) -> Verdict:
    """The verdict of a child on one mutant."""
    ((_, answer),) = pool.forked([mutant], bench.verdict, 1)
    return Verdict(**answer)


def changed(bench: Bench, file: str, before: str, after: str) -> Mutant:
    """A mutant by hand."""
    text = bench.texts[file]
    start = text.index(before)
    return replacing(file, text, "by hand", start, start + len(before), after)


def test_a_fixed_sample_is_killed(bench: Bench) -> None:
    found = put_to_the_gates(bench, SAMPLE).as_json()
    print(found["per_stage"], found["survivors"], found["unchanged"])
    assert found["killed"] == found["total"] == SAMPLE


@pytest.mark.parametrize(
    ("file", "before", "after", "stage"),
    [
        ("passes/expand_model.py", "float(head) ** -0.5", "float(head) ** 0.5", "r0"),
        ("ckb/family/llama/layer.mlir", "%x_attn, %down", "%x, %down", "r0"),
        (
            "ckb/family/llama/layer.mlir",
            "infer.add %x_attn, %down",
            "infer.odd %x, %x",
            "diagnostic",
        ),
        ("passes/specialize_entries.py", "first = boxes[name][1] + 1", "first = 7", "diagnostic"),
        ("passes/fuse.py", "return found\n\n    def", "1 // 0\n\n    def", "crash"),
        ("passes/barriers.py", "        _barrier_before(call)\n", "        pass\n", "pass gate"),
        ("passes/sizes.py", "ALIGN = 64", "ALIGN = 65", "pass gate"),
        ("passes/fuse.py", "class Fuse(MetaPass):", "class Fuse(Unheard):", "import"),
    ],
)
def test_the_stage_that_kills(bench: Bench, file: str, before: str, after: str, stage: str) -> None:
    assert verdict(bench, changed(bench, file, before, after)).stage == stage


def test_another_spelling_changes_nothing(bench: Bench) -> None:
    same = changed(bench, "passes/sizes.py", "ALIGN = 64", "ALIGN = 32 + 32")
    assert verdict(bench, same).stage == SAME


def test_what_is_as_right_survives(bench: Bench) -> None:
    """A program that is only larger or named otherwise is no wrong one."""
    named = changed(bench, "passes/schedule.py", '_program"', '_programme"')
    assert verdict(bench, named).stage == SURVIVED


def test_an_endless_loop_is_lost(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "SECONDS", 1)
    line = "    return -(-offset // to) * to"
    endless = changed(bench, "passes/sizes.py", line, "    while True: pass")
    ((_, answer),) = pool.forked([endless], bench.verdict, 1)
    assert answer is pool.LOST


def test_children_run_side_by_side_and_all_answer() -> None:
    def slowly(number: int) -> dict[str, str]:
        time.sleep(0.01 * (number % 3))
        return {"pid": str(os.getpid()), "number": str(number)}

    answers = [(task, answer) for task, answer in pool.forked(range(9), slowly, 3)]
    assert sorted(task for task, _ in answers) == list(range(9))
    assert all(answer["number"] == str(task) for task, answer in answers)
    assert len({answer["pid"] for _, answer in answers} - {str(os.getpid())}) == 9


@pytest.mark.parametrize("file", SOURCES)
def test_every_mutant_of_a_pass_is_python_and_one_change(file: str) -> None:
    text = (PASSES / file).read_text(encoding="utf-8")
    mutants = source_mutants(file, text)
    assert mutants
    for mutant in mutants:
        changed = mutant.apply(text)
        ast.parse(changed)
        assert changed != text
        assert text[mutant.start : mutant.stop] == mutant.before
        assert text.splitlines()[mutant.line - 1].count(mutant.before.split("\n")[0])


SNIPPET = '''\
"""Text."""

def f(a, b, rows):
    """Text 1."""
    if a > b:
        raise error(a + 1)
    assert a
    self.need(bool(a))
    kept = [r for r in rows if r.wide and not r.old]
    kept[0] = min(a, b - 1) if a is None else g(a, b)
    rows.append(kept)
    return f"{a} b"
'''


def test_the_table_of_operators() -> None:
    found = {(m.operator, m.before, m.after) for m in source_mutants("f.py", SNIPPET)}
    assert ("comparison", "a is None", "(a is not None)") in found
    assert ("arithmetic", "b - 1", "((b) + (1))") in found
    assert ("operands swapped", "b - 1", "((1) - (b))") in found
    assert ("and/or", "r.wide and not r.old", "((r.wide) or (not r.old))") in found
    assert ("condition dropped", "r.wide and not r.old", "(not r.old)") in found
    assert ("condition removed", "r.wide and not r.old", "True") in found
    assert ("condition removed", "min(a, b - 1) if a is None else g(a, b)", "(g(a, b))") in found
    assert ("sign dropped", "not r.old", "(r.old)") in found
    assert ("statement dropped", "rows.append(kept)", "pass") in found
    assert ("index", "0", "1") in found
    assert ("arguments swapped", "g(a, b)", "g(b, a)") in found
    assert ("function", "min", "max") in found
    # Refusals, annotations and text are left alone.
    assert not [m for m in found if m[1] in ("a > b", "a + 1") or "Text" in m[1]]


def test_only_lines_that_run_are_changed() -> None:
    lines = {m.line for m in source_mutants("f.py", SNIPPET, {10})}
    assert lines == {10}


LAYER = """\
func.func @f(%x: !x) {
  // %a = infer.add %x, %x
  %w = infer.weight_ref ${first}
  %u = infer.weight_ref ${second}
  %a = infer.linear %x, %w : !x
  %b = infer.gated_act %a, %x {act = "silu"} : !x
  func.return %b : !x
}
"""
YAML = """\
id: family/f
why: 1 of 2.
pattern: [local, global]
kinds:
  local: {state: a, window: window + 1}
  global: {state: b}
"""


def test_the_table_of_contract_operators() -> None:
    found = {(m.operator, m.before, m.after) for m in contract_mutants("l.mlir", LAYER)}
    assert ("operands swapped", "%a, %x", "%x, %a") in found
    assert ("other value", "%w", "%u") in found
    assert ("other weight", "${second}", "${first}") in found
    assert ("word", '"silu"', '"gelu_tanh"') in found
    assert any(operator == "op left out" for operator, _, _ in found)
    assert not any("//" in m.before for m in contract_mutants("l.mlir", LAYER) if m.line == 2)
    found = {(m.operator, m.before, m.after) for m in contract_mutants("c.yaml", YAML)}
    assert ("order", "local, global", "global, local") in found
    assert ("item dropped", "local, global", "global") in found
    assert ("number", "1", "2") in found
    assert ("other entry", "{state: b}", "{state: a, window: window + 1}") in found
    assert ("entry dropped", "  global: {state: b}\n", "") in found
    assert not [m for m in contract_mutants("c.yaml", YAML) if m.line == 2]


def test_every_contract_of_a_family_has_mutants() -> None:
    for path in sorted(ckb_dir().glob("family/*/*")):
        file = f"ckb/{path.relative_to(ckb_dir()).as_posix()}"
        assert len(contract_mutants(file, path.read_text(encoding="utf-8"))) > 5


def test_a_sample_takes_files_and_operators_in_turn() -> None:
    made = [
        Mutant(file, operator, n, n, 1, "", str(n))
        for n in range(50)
        for file, operator in (("a", "x"), ("a", "y"), ("b", "x"))
    ]
    first = sampled(made, 9, Random(SEED))
    kinds = [(m.file, m.operator) for m in first]
    assert all(kinds.count(kind) == 3 for kind in set(kinds))
    assert first == sampled(made, 9, Random(SEED))
    assert sampled(made, 30, Random(SEED))[:9] == first


def test_the_score_leaves_out_what_changes_nothing_and_reports_crashes_apart() -> None:
    one = Mutant("passes/a.py", "constant", 0, 1, 1, "1", "2")
    stages = ("r0", "pass gate", "crash", "import", SAME, SURVIVED)
    found = PassReport([Outcome(one, Verdict(stage)) for stage in stages]).as_json()
    assert (found["killed"], found["total"], found["same_ir"]) == (4, 5, 1)
    assert found["crashed"] == 2
    assert [s["stage"] for s in found["survivors"]] == [SURVIVED]
    assert found["per_operator"] == {"constant": {"killed": 4, "total": 5}}
    assert found["survivors"][0]["site"] == "passes/a.py:1"
