"""The mutation score of the kernel gate: a fixed-seed sample of wrong bodies, each put to it."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np

from metainfer.codegen.c.toolchain import Compiler
from metainfer.knowledge.base import Knowledge
from metainfer.reports import Report as Say
from metainfer.reports import quiet
from metainfer.verify.mutation.operators import Mutation, mutations
from metainfer.verify.mutation.subjects import Subject, subjects
from metainfer.verify.mutation.trial import Bench, Built
from metainfer.verify.mutation.written import Written, written

SEED = 20261201
LEAST, LEAST_SUBTLE = 600, 150
"""Mutants in a report, and those among them that the usual check accepts."""
SEEDS = 1000
"""Drawn cases that a correct body must pass."""
SAME_ROWS = 100_000
"""Input rows on which an equivalent mutant writes the same bits."""


@dataclass(frozen=True)
class Setting:
    """What every worker needs to build bodies."""

    compiler: Compiler
    knowledge: Knowledge
    target: str


@dataclass(frozen=True)
class Size:
    """How much a report tries, and with how many processes."""

    least: int = LEAST
    subtle: int = LEAST_SUBTLE
    seeds: int = SEEDS
    workers: int = 2


Site = tuple[int, Mutation]
"""A subject's number and a mutation of its body."""


@dataclass(frozen=True)
class Outcome:
    """One mutant and what became of it."""

    kernel: str
    op: str
    operator: str
    line: int
    before: str
    after: str
    status: str
    """`killed`, `equivalent` or `survived`."""
    stage: str
    """The stage of the gate that killed it."""
    subtle: bool
    """Whether `allclose` at one regular shape accepts it."""


@dataclass
class Report:
    """The score, as `metainfer verify --mutation-report` prints it."""

    outcomes: list[Outcome] = field(default_factory=list)
    same_code: int = 0
    """Mutations that the compiler turned into the original's very object: not counted."""
    blind: list[Outcome] = field(default_factory=list)
    """Wrong bodies by hand."""
    alarms: dict[str, str] = field(default_factory=dict)
    """Correct bodies that were refused, and why."""
    correct: int = 0
    seeds: int = 0

    def as_json(self) -> dict[str, Any]:
        """Totals, and what survived."""
        counted = [o for o in self.outcomes if o.status != "equivalent"]
        killed = [o for o in counted if o.status == "killed"]
        return {
            "killed": len(killed),
            "total": len(counted),
            "equivalent": len(self.outcomes) - len(counted),
            "same_code": self.same_code,
            "subtle": sum(o.subtle for o in counted),
            "subtle_killed": sum(o.subtle for o in killed),
            "false_rejections": len(self.alarms),
            "correct": {"bodies": self.correct, "seeds": self.seeds, "refused": self.alarms},
            "blind": {
                "killed": sum(o.status == "killed" for o in self.blind),
                "total": len(self.blind),
                "survivors": [asdict(o) for o in self.blind if o.status != "killed"],
            },
            "per_op": _shares(counted, "op"),
            "per_operator": _shares(counted, "operator"),
            "per_stage": dict(Counter(o.stage for o in killed)),
            "survivors": [asdict(o) for o in counted if o.status == "survived"],
            "equivalents": [asdict(o) for o in self.outcomes if o.status == "equivalent"],
        }


def _shares(outcomes: Sequence[Outcome], by: str) -> dict[str, dict[str, int]]:
    totals = Counter(getattr(o, by) for o in outcomes)
    killed = Counter(getattr(o, by) for o in outcomes if o.status == "killed")
    return {name: {"killed": killed[name], "total": totals[name]} for name in sorted(totals)}


def mutation_report(setting: Setting, size: Size = Size(), report: Say = quiet) -> Report:
    """Put mutants of all subjects to the gate, then the bodies by hand.

    `size.least` mutants in an order drawn once from `SEED`, every subject and every operator in
    turn; then subtle ones until there are `size.subtle`. A longer report begins as a shorter one.
    """
    found = Report(seeds=size.seeds)
    with (
        tempfile.TemporaryDirectory(prefix="metainfer-mutants-") as folder,
        ProcessPoolExecutor(size.workers, initializer=_start, initargs=(setting, folder)) as pool,
    ):
        _mutants(pool, found, _sites(setting.knowledge), size, report)
        by_hand = written("blind")
        report(f"{len(by_hand)} wrong bodies by hand")
        found.blind = list(pool.map(_try_written, by_hand))
        correct = [*written("correct"), *_rules(setting.knowledge)]
        report(f"{len(correct)} correct bodies, {size.seeds} seeds each")
        for body, alarm in zip(correct, pool.map(_alarm, correct, repeat(size.seeds)), strict=True):
            found.correct += 1
            if alarm:
                found.alarms[f"{body.subject}/{body.name}"] = alarm
    return found


def _mutants(
    pool: ProcessPoolExecutor, found: Report, sites: Sequence[Site], size: Size, report: Say
) -> None:
    subtle = 0
    for start in range(0, len(sites), ROUND):
        for outcome in pool.map(_try, sites[start : start + ROUND]):
            if isinstance(outcome, Outcome) and (
                len(found.outcomes) < size.least or outcome.subtle
            ):
                found.outcomes.append(outcome)
                subtle += outcome.subtle and outcome.status != "equivalent"
            found.same_code += outcome == SAME_CODE
        report(f"{len(found.outcomes)} mutants, {subtle} of them subtle")
        if len(found.outcomes) >= size.least and subtle >= size.subtle:
            break


def _rules(knowledge: Knowledge) -> list[Written]:
    """The rules' own bodies, of every subject."""
    return [Written(s.name, "rule", _text(s)) for s in subjects(knowledge)]


ROUND = 60
"""Mutants between two looks at whether there are enough."""
SAME_CODE, NO_CODE = "same code", "does not compile"


def _sites(knowledge: Knowledge) -> list[Site]:
    """All mutations of all subjects, subjects and operators in turn."""
    orders = [_order(n, mutations(_text(s))) for n, s in enumerate(subjects(knowledge))]
    longest = max(map(len, orders))
    return [order[turn] for turn in range(longest) for order in orders if turn < len(order)]


def _order(number: int, found: Sequence[Mutation]) -> list[Site]:
    rng = np.random.default_rng([SEED, number])
    shuffled = [found[i] for i in rng.permutation(len(found))]
    seen: Counter[str] = Counter()
    turns = []
    for mutation in shuffled:
        turns.append(seen[mutation.operator])
        seen[mutation.operator] += 1
    ranked = sorted(range(len(shuffled)), key=lambda i: turns[i])
    return [(number, shuffled[i]) for i in ranked]


def _text(subject: Subject) -> str:
    return "\n".join(subject.body)


# === In a worker ===


_BENCHES: list[Bench] = []


@cache
def _original(number: int) -> Built:
    """The correct body of a subject."""
    bench = _BENCHES[number]
    built = bench.build(_text(bench.subject))
    assert built is not None
    return built


def _start(setting: Setting, folder: str) -> None:
    # Thousands of objects that nobody wants again.
    os.environ["METAINFER_CACHE"] = folder
    found = subjects(setting.knowledge)
    _BENCHES[:] = [Bench(s, setting.compiler, setting.knowledge, setting.target) for s in found]


def _try(site: Site) -> Outcome | str:
    """The outcome of one mutant, or why it is none."""
    number, mutation = site
    bench, original = _BENCHES[number], _original(number)
    body = _text(bench.subject)
    mutant = bench.build(mutation.apply(body))
    if mutant is None:
        return NO_CODE
    if mutant.code.read_bytes() == original.code.read_bytes():
        return SAME_CODE
    status, stage = _judged(mutant, original, f"mutant of {bench.subject.name}")
    raw = body.encode()
    return Outcome(
        kernel=bench.subject.name,
        op=bench.subject.op,
        operator=mutation.operator,
        line=raw[: mutation.start].count(b"\n") + 1,
        before=raw[mutation.start : mutation.stop].decode(),
        after=mutation.text,
        status=status,
        stage=stage,
        subtle=mutant.is_close(),
    )


def _judged(mutant: Built, original: Built, key: str) -> tuple[str, str]:
    """What became of a mutant, and the stage that said so."""
    verdict = mutant.verdict(key)
    if verdict.status == "infra_error":
        raise RuntimeError(f"{key}: {verdict.failure}")
    if verdict.status != "verified":
        return "killed", verdict.stage
    same = mutant.same_bits(original, SAME_ROWS)
    return ("equivalent" if same else "survived"), verdict.stage


def _numbered(name: str) -> int:
    return next(n for n, bench in enumerate(_BENCHES) if bench.subject.name == name)


def _try_written(body: Written) -> Outcome:
    """The outcome of a wrong body by hand."""
    number = _numbered(body.subject)
    bench = _BENCHES[number]
    mutant = bench.build(body.text)
    if mutant is None:
        raise RuntimeError(f"{body.subject}/{body.name} does not compile")
    status, stage = _judged(mutant, _original(number), f"blind {body.subject}")
    return Outcome(
        kernel=body.subject,
        op=bench.subject.op,
        operator=body.name,
        line=1,
        before="",
        after=body.says,
        status=status,
        stage=stage,
        subtle=mutant.is_close(),
    )


def _alarm(body: Written, seeds: int) -> str:
    """Why the gate refuses a correct body; empty if it does not."""
    built = _BENCHES[_numbered(body.subject)].build(body.text)
    if built is None:
        return NO_CODE
    key = f"correct {body.subject} {body.name}"
    verdicts = (built.verdict(key), built.alarms(key, seeds))
    return "; ".join(str(v.failure) for v in verdicts if v.status != "verified")
