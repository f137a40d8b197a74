"""A file that meets a failure again: the module before the failing pass, and what to run on it.

The first line is the command, as in a test::

    // RUN: metainfer-opt %s -p 'fuse{rules=a,b},select-layouts'
    // fuse failed: %3 is used before it is defined
    builtin.module { ... }
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from metainfer.ir.diagnostics import Place, error
from metainfer.ir.text import print_module
from metainfer.passes.instruments.base import Instrument, Step

PREFIX = "// RUN: metainfer-opt %s"


def pipeline_text(passes: Sequence[ModulePass]) -> str:
    """Text that `-p` turns into `passes` again."""
    return ",".join(map(str, passes))


def reproducer_text(
    body: str, passes: Sequence[ModulePass], options: Sequence[str] = (), comment: str = ""
) -> str:
    """`body` under a header that runs `passes` on it with further command-line `options`."""
    command = shlex.join(["-p", pipeline_text(passes), *options])
    comments = "".join(f"// {line}\n" for line in comment.splitlines())
    return f"{PREFIX} {command}\n{comments}{body}"


def reproducer_arguments(text: str, name: str) -> list[str]:
    """The command-line arguments in a reproducer's header, without the file."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(PREFIX):
            try:
                return shlex.split(line.removeprefix(PREFIX))
            except ValueError as problem:
                raise error(
                    f"cannot read this command: {problem}", Place(name, number, 1)
                ) from None
    raise error(
        f"{name} is no reproducer",
        Place(name, 1, 1),
        help=f"one begins with: {PREFIX} -p 'PASSES'",
    )


@dataclass
class Reproduce(Instrument):
    """Keeps the module before each pass, and hands out a reproducer when one fails."""

    write: Callable[[str], None]
    options: Sequence[str] = ()
    _before: ModuleOp | None = field(default=None, init=False)

    def before(self, step: Step) -> None:
        self._before = step.module.clone()

    def failed(self, step: Step, problem: Exception) -> None:
        assert self._before is not None
        summary = str(problem).strip().split("\n", 1)[0]
        comment = f"pass {step.name} failed: {type(problem).__name__}: {summary}"
        body = print_module(self._before, locations=True)
        self.write(reproducer_text(body, step.rest, self.options, comment))
