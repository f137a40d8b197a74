"""Which pass breaks a check, and which of its rewrites: `metainfer-opt --bisect-passes`."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note, error
from metainfer.ir.text import print_module
from metainfer.passes.context import CompilerContext
from metainfer.passes.counters import Rewrite, Rewrites
from metainfer.passes.instruments.base import Check, Instrument, Step
from metainfer.passes.manager import run_passes

Checks = Callable[[], Sequence[Check]]
"""Makes fresh checks for one run."""


@dataclass(frozen=True)
class Failure:
    """A run that ended early: where, with what, and the module that the pass was given."""

    step: Step | None
    """None: the input itself was refused."""
    problem: Exception
    before: ModuleOp | None

    @property
    def name(self) -> str:
        """Name of the failing pass."""
        return self.step.name if self.step else "input"


@dataclass(frozen=True)
class Finding:
    """The pass to blame, and the first of its rewrites after which the check fails."""

    failure: Failure
    rewrite: Rewrite | None
    """None: the pass counts no rewrites, or fails without any."""
    rewrites: int
    """Rewrites that the pass takes in all."""


@dataclass
class _Watch(Instrument):
    """Remembers the step that failed and a copy of the module before it."""

    copies: bool
    step: Step | None = None
    before_step: ModuleOp | None = field(default=None, init=False)

    def before(self, step: Step) -> None:
        self.before_step = step.module.clone() if self.copies else None

    def failed(self, step: Step, problem: Exception) -> None:
        self.step = step


def failure_of(
    ctx: CompilerContext,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    checks: Checks,
    *,
    limit: int | None = None,
    copies: bool = False,
) -> Failure | None:
    """How running `passes` on a copy of `module` fails, None if it does not.

    With `copies` the failure holds the module as it was before the failing pass.
    """
    watch = _Watch(copies)
    ctx.rewrites = Rewrites(limit)
    try:
        run_passes(ctx, module.clone(), passes, instruments=[watch], checks=checks())
    except CommandError:
        raise
    except Exception as problem:
        return Failure(watch.step, problem, watch.before_step)
    return None


def bisect_passes(
    ctx: CompilerContext, module: ModuleOp, passes: Sequence[ModulePass], checks: Checks
) -> Finding | None:
    """The first pass that fails or after which a check does; None if all hold to the end.

    `module` is left as it is.
    """
    failure = failure_of(ctx, module, passes, checks, copies=True)
    if failure is None:
        return None
    if failure.step is None or failure.before is None:
        return Finding(failure, None, 0)
    one, before = [failure.step.one], failure.before
    failure_of(ctx, before, one, checks)
    total = ctx.rewrites.taken
    if total == 0 or failure_of(ctx, before, one, checks, limit=0) is not None:
        return Finding(failure, None, total)
    good, bad = 0, total
    while bad - good > 1:
        middle = (good + bad) // 2
        if failure_of(ctx, before, one, checks, limit=middle) is None:
            good = middle
        else:
            bad = middle
    failure_of(ctx, before, one, checks, limit=bad)
    return Finding(failure, ctx.rewrites.last, total)


class CommandError(DiagnosticError):
    """The check's command could not be run, which says nothing about the module."""


@dataclass
class Command(Check):
    """A shell command that succeeds on a sound module; `%s` in it is a file of the module's text.

    With `last_only` it judges only what comes out of the last pass.
    """

    command: str
    last_only: bool = False

    def input(self, module: ModuleOp, ctx: Context) -> None:
        if not self.last_only:
            self._judge(module)

    def start(self, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        if self.last_only and not passes:
            self._judge(module)

    def check(self, step: Step) -> None:
        if not self.last_only or step.number == len(step.passes):
            self._judge(step.module)

    def _judge(self, module: ModuleOp) -> None:
        code = run_command(self.command, print_module(module, locations=True))
        if code:
            raise error(f"the check's command ended with status {code}")


def run_command(command: str, text: str) -> int:
    """The exit code of a shell command on a file with `text`; CommandError if it cannot be run."""
    handle, name = tempfile.mkstemp(prefix="metainfer-check-", suffix=".mlir")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        line = command.replace("%s", shlex.quote(name))
        done = subprocess.run(line, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    finally:
        Path(name).unlink()
    if done.returncode in _NOT_RUN:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise CommandError(
            Diagnostic(f"cannot run the check's command '{command}'", notes=(Note(said),))
        )
    return done.returncode


_NOT_RUN = (126, 127)
"""What a shell answers for a command that it cannot execute or find."""
