"""One mutant, run in a child process: which check notices it, if one does.

The child imports the passes anew, with the changed text in the place of one file, and runs them on
the modules that the parent made with the unchanged ones. Only what comes out other than it was is
looked at: first the IR gate, then R0 against its recording, then the pass gate. A program that is
right may still cost more than the unchanged passes' one: that is noticed last, and said apart.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from metainfer.driver.mutation.mutant import Mutant

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from metainfer.driver.mutation.subjects import Subject
    from metainfer.knowledge.base import Knowledge
    from metainfer.passes.context import CompilerContext
    from metainfer.passes.instruments.base import Step

WITHIN = 2e-3
"""Most that logits may be off from a recording in float32 (verification: independent oracles)."""
STALE = ("passes", "codegen", "verify", "driver")
"""Packages that hold on to functions of the passes."""
SAME, SURVIVED = "same ir", "survived"
"""No module of any subject has another text; some have, and no check noticed."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: the check that noticed it, or that none did."""

    stage: str
    """`import`, `crash`, `diagnostic`, `ir gate`, `r0`, `pass gate`, `cost`, or none of them."""
    where: str = ""
    """Subject and pass."""
    detail: str = ""

    def as_dict(self) -> dict[str, str]:
        """For the parent."""
        return asdict(self)


def try_mutant(
    mutant: Mutant,
    text: str,
    subjects: Sequence[Subject],
    knowledge: Knowledge,
    runs: Mapping[str, set[int]],
) -> Verdict:
    """The verdict on a mutant of a file's `text`; to be called in a process of its own.

    `runs` says for each subject which passes the changed text matters to, by their numbers.
    """
    mine = sorted((s for s in subjects if runs.get(s.name)), key=lambda s: len(s.texts[-1]))
    if mutant.of_contract:
        with tempfile.TemporaryDirectory(prefix="metainfer-mutant-") as folder:
            return _try_all(mine, _changed(knowledge, mutant, text, Path(folder)), runs)
    try:
        _import_anew(f"metainfer.{mutant.file.removesuffix('.py').replace('/', '.')}", mutant, text)
    except Exception as problem:
        return Verdict("import", detail=_summary(problem))
    return _try_all(mine, knowledge, runs)


def _changed(knowledge: Knowledge, mutant: Mutant, text: str, folder: Path) -> Knowledge:
    from metainfer.knowledge.base import Knowledge

    shutil.copytree(knowledge.root, folder / "ckb")
    path = folder / mutant.file
    path.write_text(mutant.apply(text), encoding="utf-8")
    return Knowledge(folder / "ckb")


# === Importing a changed file ===


@dataclass
class _Finder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Serves one module from text."""

    name: str
    text: str

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, f"<mutant of {fullname}>", "exec")


def _import_anew(name: str, mutant: Mutant, text: str) -> None:
    for loaded in list(sys.modules):
        package, _, rest = loaded.partition(".")
        if package == "metainfer" and rest.split(".")[0] in STALE:
            del sys.modules[loaded]
    sys.meta_path.insert(0, _Finder(name, mutant.apply(text)))
    importlib.import_module(name)
    from metainfer.passes.pipelines import PASSES

    for load in PASSES.values():
        load()


# === Running ===


def _try_all(
    subjects: Sequence[Subject], knowledge: Knowledge, runs: Mapping[str, set[int]]
) -> Verdict:
    differs = ""
    for subject in subjects:
        found = _Run(subject, knowledge, runs[subject.name]).verdict()
        if found.stage not in (SAME, SURVIVED):
            return found
        differs = differs or found.where
    return Verdict(SURVIVED, differs) if differs else Verdict(SAME)


@dataclass
class _Run:
    """The passes on one subject: those that the change matters to, and all once one differs."""

    subject: Subject
    knowledge: Knowledge
    numbers: set[int]
    phase: str = ""
    where: str = ""
    differs: str = ""
    """The first pass that made something else than before."""

    def verdict(self) -> Verdict:
        from metainfer.driver.mutation.subjects import subject_context
        from metainfer.ir.diagnostics import DiagnosticError

        try:
            self._passes(subject_context(self.knowledge))
        except DiagnosticError as problem:
            return Verdict(self.phase, self.where, _summary(problem))
        except Exception as problem:
            return Verdict("crash", self.where, _summary(problem))
        return Verdict(SURVIVED if self.differs else SAME, self.differs)

    def _passes(self, ctx: CompilerContext) -> None:
        from metainfer.passes.pipelines import DEFAULT

        module: ModuleOp | None = None
        """What the passes made so far, where that is not what they always made."""
        for number, name in enumerate(DEFAULT):
            if module is not None or number in self.numbers:
                before = module or self.subject.modules[number]
                module = self._step(number, name, before, ctx)

    def _step(
        self, number: int, name: str, before: ModuleOp, ctx: CompilerContext
    ) -> ModuleOp | None:
        """What a pass makes of a module; None if it is what it always made."""
        from metainfer.driver.mutation.subjects import ir_text, undecided
        from metainfer.passes.instruments.base import Step
        from metainfer.passes.manager import run_passes
        from metainfer.passes.pipelines import PASSES

        module, one = before.clone(), PASSES[name]()()
        self.phase, self.where = "diagnostic", f"{self.subject.name}: {name}"
        run_passes(ctx, module, [one], checks=[])
        steps = (Step(1, (one,), before, ctx), Step(1, (one,), module, ctx))
        self._verify(*steps)
        text = ir_text(module)
        if text == self.subject.texts[number]:
            return None
        self.differs = self.differs or self.where
        known = undecided(ir_text(before)) == undecided(self.subject.text_before(number))
        if not known or undecided(text) != undecided(self.subject.texts[number]):
            self._check(*steps)
        return module

    def _verify(self, before: Step, after: Step) -> None:
        from metainfer.passes.instruments.checks import Verify

        self.phase = "ir gate"
        sound = Verify()
        sound.before(before)
        sound.check(after)

    def _check(self, before: Step, after: Step) -> None:
        """Everything that a changed result is held to, the cheapest first."""
        from metainfer.driver.validation import Validate
        from metainfer.passes.pipelines import DEFAULT

        if after.name == "expand-model":
            self.phase = "r0"
            _hold_to_recording(self.subject, after.module, after.ctx)
        self.phase = "pass gate"
        gate = Validate(warn=lambda warning: None)
        gate.before(before)
        gate.check(after)
        if after.name == DEFAULT[-1]:
            self.phase = "cost"
            _hold_to_cost(self.subject, after.module)


def _hold_to_recording(subject: Subject, module: ModuleOp, ctx: Context) -> None:
    """DiagnosticError where R0 answers otherwise than the recording says."""
    import numpy as np

    from metainfer.driver.reference import Reference
    from metainfer.interp.r0 import teacher_forced
    from metainfer.interp.run import Interpreter
    from metainfer.ir.diagnostics import error
    from metainfer.passes.resolve_model import open_model

    ids, wanted = subject.recording
    reference = Reference(module, open_model(module, ctx))
    interpreter = Interpreter(module, reference.weights)
    found = np.concatenate(list(teacher_forced(interpreter, ids, len(ids))))
    if found.shape != wanted.shape or not np.abs(found - wanted).max() <= WITHIN:
        raise error(f"R0 of {subject.name} differs from its recording")


def _hold_to_cost(subject: Subject, module: ModuleOp) -> None:
    """DiagnosticError where a program does the same with more: bytes, calls or barriers."""
    from metainfer.driver.mutation.subjects import costs
    from metainfer.ir.diagnostics import error

    before = costs(subject.modules[-1])
    for name, cost in costs(module).items():
        if cost > before[name]:
            raise error(f"{subject.name} takes {cost} {name}, unchanged passes {before[name]}")


def _summary(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}".split("\n", 1)[0][:200]
