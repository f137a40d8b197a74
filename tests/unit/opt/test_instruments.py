"""What instruments see, in which order, and what they print."""

import re
from pathlib import Path

import pytest
from opt_ir import ADD, Break, Refuse, Tag, module_of
from xdsl.passes import ModulePass

from metainfer.driver.session import reading_context
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.printing import View
from metainfer.passes.counters import Rewrites
from metainfer.passes.instruments.base import Check, Instrument, Step
from metainfer.passes.instruments.dumps import DumpTree, Everything, PrintDiff, PrintIR
from metainfer.passes.instruments.reproducer import (
    Reproduce,
    reproducer_arguments,
    reproducer_text,
)
from metainfer.passes.instruments.statistics import CountOps
from metainfer.passes.instruments.timing import TimePasses, Timer
from metainfer.passes.manager import run_passes


def run(passes: list[ModulePass], *instruments: Instrument) -> None:
    run_passes(reading_context(), module_of(ADD), passes, instruments=instruments)


class Log(Check):
    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def start(self, module: object, passes: object) -> None:
        self.log.append(f"{self.name} start")

    def before(self, step: Step) -> None:
        self.log.append(f"{self.name} before {step.number} {step.name}")

    def ran(self, step: Step) -> None:
        self.log.append(f"{self.name} ran")

    def check(self, step: Step) -> None:
        self.log.append(f"{self.name} check")

    def after(self, step: Step) -> None:
        self.log.append(f"{self.name} after")

    def failed(self, step: Step, problem: Exception) -> None:
        self.log.append(f"{self.name} failed {problem}")


def test_hooks_enclose_one_another() -> None:
    log: list[str] = []
    run_passes(
        reading_context(),
        module_of(ADD),
        [Tag()],
        instruments=[Log("a", log)],
        checks=[Log("b", log)],
    )
    assert log == [
        "b start", "a start", "b before 1 tag", "a before 1 tag", "a ran", "b ran", "b check",
        "a after", "b after",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "seen"),
    [(Refuse(), ["failed not this"]), (Break(), ["ran", "failed infer.add: operand 0 is used"])],
)
def test_a_failure_ends_the_run(one: ModulePass, seen: list[str]) -> None:
    log: list[str] = []
    with pytest.raises(DiagnosticError):
        run([one, Tag()], Log("a", log))
    assert [line[: len(f"a {w}")] for line, w in zip(log[2:], seen, strict=True)] == [
        f"a {w}" for w in seen
    ]


def test_dumps_around_named_passes() -> None:
    out: list[str] = []
    run([Tag(), Tag("u")], PrintIR(View(only=("f",)), out.append, ("tag",), ()))
    assert [text.split("\n")[0] for text in out] == ["// -----// IR Dump Before tag //----- //"] * 2
    assert "func.func @f" in out[0]
    assert "builtin.module" not in out[0]


def test_dumps_of_changes_only() -> None:
    out: list[str] = []
    run([Tag(), Tag()], PrintIR(View(), out.append, (), Everything(), only_changes=True))
    (text,) = out
    assert text.startswith(
        "// -----// IR Dump After tag //----- //\nbuiltin.module attributes {t ="
    )


@pytest.mark.parametrize("flags", [{"on_failure": True}, {"after_names": Everything()}])
def test_a_dump_of_what_a_failing_pass_left(flags: dict[str, object]) -> None:
    out: list[str] = []
    with pytest.raises(DiagnosticError):
        run([Refuse()], PrintIR(View(), out.append, **flags))  # type: ignore[arg-type]
    assert out[-1].startswith("// -----// IR Dump After refuse Failed //----- //\n")
    assert 'half = "done"' in out[-1]


def test_a_diff_for_each_pass_that_changes_something() -> None:
    out: list[str] = []
    run([Tag(), Tag(), Tag("u")], PrintDiff(View(), out.append))
    assert len(out) == 2
    assert out[0].startswith("--- before tag\n+++ after tag\n@@ -1,")
    assert '-builtin.module {\n+builtin.module attributes {t = "seen"} {\n' in out[0]


def test_a_tree_of_numbered_files(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    for passes in ([Tag(), Tag("u"), Tag("v")], [Tag()]):
        run(list(passes), DumpTree(folder, View()))
    assert sorted(p.name for p in folder.iterdir()) == ["000-input.mlir", "001-tag.mlir"]
    assert module_of((folder / "001-tag.mlir").read_text()).attributes.keys() == {"t"}
    with pytest.raises(DiagnosticError):
        run([Tag(), Refuse()], DumpTree(folder, View()))
    assert (folder / "002-refuse-failed.mlir").exists()


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "000-input.mlir").write_text("old")
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(DiagnosticError, match=r"it holds thesis\.txt, which is no dump"):
        run([Tag()], DumpTree(tmp_path, View()))
    assert (tmp_path / "000-input.mlir").read_text() == "old"
    with pytest.raises(DiagnosticError, match="it is a file"):
        run([Tag()], DumpTree(tmp_path / "thesis.txt", View()))


def test_the_timing_tree_adds_up() -> None:
    timer = Timer()
    with timer.phase("Parser"):
        module = module_of(ADD)
    passes = [Tag(), Tag("u")]
    run_passes(reading_context(), module, passes, instruments=[TimePasses(timer)])
    with pytest.raises(DiagnosticError):
        run_passes(reading_context(), module, [Refuse()], instruments=[TimePasses(timer)])
    report = timer.report()
    names = [line[40:] for line in report.splitlines()[6:]]
    assert names == [
        "Parser", "tag", "  pass", "  checks", "tag", "  pass", "  checks", "refuse", "  pass",
        "Rest", "Total",
    ]  # fmt: skip
    total = timer.total
    assert sum(p.wall for p in total.parts) <= total.wall
    assert all(sum(q.wall for q in p.parts) <= p.wall for p in total.parts)
    assert re.search(r"Total Execution Time: \d+\.\d{4} seconds", report)


def test_statistics_tell_ops_and_counts() -> None:
    rewrites = Rewrites()
    count = CountOps(rewrites)

    class Counting(Instrument):
        def before(self, step: Step) -> None:
            rewrites.take(step.name, "rule", None)

    run([Tag(), Tag("u")], Counting(), count)
    assert count.report().splitlines()[3:] == [
        "tag", "  (S) 4 ops before, 4 after", "tag", "  (S) 4 ops before, 4 after",
        "  (S)       2 rule",
    ]  # fmt: skip


def test_a_reproducer_holds_the_module_before_the_pass_and_the_rest() -> None:
    written: list[str] = []
    with pytest.raises(DiagnosticError):
        run([Tag("u v"), Refuse(), Tag("w")], Reproduce(written.append, ["--validate"]))
    (text,) = written
    assert reproducer_arguments(text, "r.mlir") == ["-p", 'refuse,tag{text="w"}', "--validate"]
    assert "// pass refuse failed: DiagnosticError: not this" in text
    module = module_of(text)
    assert set(module.attributes) == {"u v"}


def test_no_reproducer_where_nothing_fails() -> None:
    written: list[str] = []
    run([Tag()], Reproduce(written.append))
    assert written == []


def test_a_header_is_read_back() -> None:
    text = reproducer_text("builtin.module {}\n", [Tag("a b")], ["--seed=1"], "two\nlines")
    assert reproducer_arguments(text, "r.mlir") == ["-p", 'tag{text="a b"}', "--seed=1"]
    for broken, message in [
        ("builtin.module {}", "no reproducer"),
        ("// RUN: metainfer-opt %s -p 'x", "cannot read this command"),
    ]:
        with pytest.raises(DiagnosticError, match=message):
            reproducer_arguments(broken, "r.mlir")


def test_a_rewrite_limit_counts_across_passes() -> None:
    rewrites = Rewrites(limit=2)
    taken = [rewrites.take(name, "rule", None) for name in ("a", "b", "a")]
    assert taken == [True, True, False]
    assert rewrites.counts == {"a": {"rule": 1}, "b": {"rule": 1}}
    assert rewrites.last is not None
    assert (rewrites.last.number, rewrites.last.pass_name) == (2, "b")
