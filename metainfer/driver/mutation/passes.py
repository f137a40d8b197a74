"""The mutation score of passes and contracts: a fixed-seed sample, each put to the gates.

    python -m metainfer.driver.mutation.passes [--subjects FOLDER] [--count N] [--json]

FOLDER has tiny models with recordings (`subjects.py`); by default it is made by the tests of this
checkout: `tests/support/pass_mutants.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from metainfer.driver.mutation.contract_operators import contract_mutants
from metainfer.driver.mutation.mutant import Mutant
from metainfer.driver.mutation.source_operators import source_mutants
from metainfer.driver.mutation.trial import SAME, SURVIVED, Verdict, try_mutant
from metainfer.ir.diagnostics import error
from metainfer.reports import Report, quiet

if TYPE_CHECKING:
    from metainfer.driver.mutation.executed import Lines, Runs
    from metainfer.driver.mutation.subjects import Subject
    from metainfer.knowledge.base import Knowledge

SEED = 20261201
COUNT = 320
"""Mutants of a report."""
CONTRACT_SHARE = 0.35
SOURCES = tuple(
    f"passes/{name}.py"
    for name in (
        "access apply_quantization barriers expand_model expressions fuse imports outline_kernels "
        "parts plan_memory schedule select_layouts sizes specialize_entries"
    ).split()
)
"""The passes that decide what an engine computes, and where.

`resolve-model` reads files and judges specs, `plan` and `fill-kernels` call the others: these are
held by tests of their own.
"""
CONTRACTS = ("family", "weight_map", "quant", "fusion", "layout")
"""Kinds of contracts whose every value is right or wrong.

The numbers of a `perf_rule` and the words of a `numeric_path` are choices: others are as right.
"""
CRASHES = ("crash", "import", "lost")


@dataclass(frozen=True)
class Outcome:
    """A mutant and the verdict on it."""

    mutant: Mutant
    verdict: Verdict

    @property
    def killed(self) -> bool:
        """Whether some check noticed it."""
        return self.verdict.stage not in (SAME, SURVIVED)

    def as_dict(self) -> dict[str, str]:
        """A row for a reader."""
        mutant = self.mutant
        return {
            "site": mutant.site,
            "operator": mutant.operator,
            "before": mutant.before[:200],
            "after": mutant.after[:200],
            **self.verdict.as_dict(),
        }


@dataclass
class PassReport:
    """The score, as `metainfer verify --mutation-report` prints it."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """Mutants that count: they changed some module."""
        return sum(o.verdict.stage != SAME for o in self.outcomes)

    def as_json(self) -> dict[str, Any]:
        """Totals, and what survived; mutants that change no module are not in the totals."""
        counted = [o for o in self.outcomes if o.verdict.stage != SAME]
        killed = [o for o in counted if o.killed]
        return {
            "killed": len(killed),
            "total": len(counted),
            "same_ir": len(self.outcomes) - len(counted),
            "crashed": sum(o.verdict.stage in CRASHES for o in killed),
            "costlier": sum(o.verdict.stage == "cost" for o in killed),
            "per_stage": dict(sorted(Counter(o.verdict.stage for o in killed).items())),
            "per_operator": _shares(counted, lambda o: o.mutant.operator),
            "per_file": _shares(counted, lambda o: o.mutant.file),
            "survivors": [o.as_dict() for o in counted if not o.killed],
            "unchanged": [o.as_dict() for o in self.outcomes if o.verdict.stage == SAME],
        }


def _shares(outcomes: Sequence[Outcome], by: Any) -> dict[str, dict[str, int]]:
    totals = Counter(by(o) for o in outcomes)
    killed = Counter(by(o) for o in outcomes if o.killed)
    return {name: {"killed": killed[name], "total": totals[name]} for name in sorted(totals)}


@dataclass
class Bench:
    """Subjects compiled once, and every mutant of what they were compiled with."""

    subjects: list[Subject]
    knowledge: Knowledge
    texts: dict[str, str] = field(default_factory=dict)
    lines: Lines = field(default_factory=dict)

    @staticmethod
    def of(folder: Path) -> Bench:
        """The bench of a folder of subjects."""
        from metainfer.driver.mutation.executed import Recorder
        from metainfer.driver.mutation.subjects import compile_unchanged, read_subjects
        from metainfer.knowledge.base import Knowledge
        from metainfer.resources import ckb_dir

        bench = Bench(read_subjects(folder), Knowledge(ckb_dir()))
        package = Path(sys.modules["metainfer"].__path__[0])
        recorder = Recorder(package, frozenset(SOURCES))
        for subject in bench.subjects:
            compile_unchanged(subject, bench.knowledge, recorder)
            assert subject.recording
        bench.lines = recorder.finish()
        bench.texts = {f: (package / f).read_text(encoding="utf-8") for f in SOURCES}
        bench.texts |= dict(bench._contracts())
        return bench

    def _contracts(self) -> Iterable[tuple[str, str]]:
        """The files of the contracts that the subjects use."""
        for kind in CONTRACTS:
            for id_ in self.knowledge.ids(kind):
                if any(self._readers(id_).values()):
                    for path in sorted((self.knowledge.root / id_).iterdir()):
                        yield f"ckb/{id_}/{path.name}", path.read_text(encoding="utf-8")

    def _readers(self, id_: str) -> Runs:
        """The passes that read a contract, for each subject."""
        from metainfer.driver.mutation.subjects import passes_of

        return {s.name: passes_of(s, id_) for s in self.subjects}

    def mutants(self) -> tuple[list[Mutant], list[Mutant]]:
        """All mutants of passes, and all of contracts."""
        passes, contracts = [], []
        for file, text in self.texts.items():
            if file.startswith("ckb/"):
                contracts += contract_mutants(file, text)
            else:
                passes += source_mutants(file, text, set(self.lines.get(file, {})))
        return passes, contracts

    def runs(self, mutant: Mutant) -> Runs:
        """The passes that a mutant matters to, for each subject."""
        from metainfer.driver.mutation.executed import joined

        if mutant.of_contract:
            return self._readers("/".join(mutant.file.split("/")[1:3]))
        last = mutant.line + mutant.before.count("\n")
        lines = self.lines[mutant.file]
        return joined(lines.get(line, {}) for line in range(mutant.line, last + 1))

    def verdict(self, mutant: Mutant) -> dict[str, str]:
        """What becomes of a mutant, in a process of its own."""
        text = self.texts[mutant.file]
        found = try_mutant(mutant, text, self.subjects, self.knowledge, self.runs(mutant))
        return found.as_dict()


def sampled(mutants: Sequence[Mutant], count: int, random: Random) -> list[Mutant]:
    """`count` mutants, files and operators in turn."""
    groups: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in random.sample(mutants, len(mutants)):
        groups.setdefault((mutant.file, mutant.operator), []).append(mutant)
    longest = max(map(len, groups.values()), default=0)
    turns = [m for turn in range(longest) for g in groups.values() for m in g[turn : turn + 1]]
    return turns[:count]


def put_to_the_gates(
    bench: Bench, count: int = COUNT, workers: int = 2, report: Report = quiet
) -> PassReport:
    """The outcomes of `count` mutants that change some module of some subject.

    Which ones depends on nothing but the sources: each kind is tried in one order, drawn from SEED,
    until there are enough. Children are forked: call it from a process without threads of its own.
    """
    random, found = Random(SEED), PassReport()
    passes, contracts = bench.mutants()
    of_contracts = round(count * CONTRACT_SHARE)
    for mutants, wanted in ((passes, count - of_contracts), (contracts, of_contracts)):
        order = sampled(mutants, len(mutants), random)
        changed = 0
        for start in range(0, len(order), ROUND):
            if changed >= wanted:
                break
            for outcome in _round(bench, order[start : start + ROUND], workers):
                if changed < wanted:
                    found.outcomes.append(outcome)
                    changed += outcome.verdict.stage != SAME
            report(f"mutants of passes and contracts: {found.changed} of {count}")
    return found


ROUND = 20
"""Mutants between two looks at whether there are enough."""


def _round(bench: Bench, mutants: Sequence[Mutant], workers: int) -> list[Outcome]:
    """The outcomes of some mutants, in their order."""
    from metainfer.driver.mutation.pool import forked

    answers = dict(forked(mutants, bench.verdict, workers))
    lost = {"stage": "lost", "detail": "no answer in time"}
    return [Outcome(m, Verdict(**(answers[m] or lost))) for m in mutants]


def pass_report(count: int = COUNT, report: Report = quiet) -> dict[str, Any]:
    """The report as JSON, on subjects that this checkout's tests make."""
    with tempfile.TemporaryDirectory(prefix="metainfer-subjects-") as folder:
        report("making the models of the tests")
        made = make_subjects(Path(folder) / "subjects")
        report("compiling the unchanged models")
        return put_to_the_gates(Bench.of(made), count, report=report).as_json()


def make_subjects(folder: Path) -> Path:
    """Have the tests of this checkout write their subjects; DiagnosticError without a checkout."""
    package = Path(sys.modules["metainfer"].__path__[0])
    script = package.parent / "tests" / "support" / "pass_mutants.py"
    if not script.is_file():
        raise error(
            "mutants of passes run on the models of the tests, which are not installed",
            help="run this in a checkout of the source",
        )
    command = [sys.executable, str(script), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise error(f"{script} failed: {done.stderr.strip()[-500:]}")
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m metainfer.driver.mutation.passes")
    parser.add_argument("--subjects", type=Path)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    if given.subjects is None:
        found = pass_report(given.count, to_stderr)
    else:
        bench = Bench.of(given.subjects)
        found = put_to_the_gates(bench, given.count, report=to_stderr).as_json()
    print(json.dumps(found, indent=1) if given.json else text_of(found))
    return 0


def text_of(found: Mapping[str, Any]) -> str:
    """The score and what was not killed, a line each."""
    share = f"{found['killed']} of {found['total']} killed, {found['crashed']} of them by a crash"
    lines = [f"{share}; {found['same_ir']} changed nothing"]
    for word, kind in (("survived", "survivors"), ("changed nothing", "unchanged")):
        for one in found[kind]:
            change = f"{one['before']!r} -> {one['after']!r}"
            lines.append(f"{word}: {one['site']}: {one['operator']}: {change} {one['where']}")
    return "\n".join(lines)


def to_stderr(message: str) -> None:
    """Progress on the line before the report."""
    print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
