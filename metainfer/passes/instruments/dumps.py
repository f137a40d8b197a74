"""IR between passes: printed before or after some, where it changed, as a diff, or to files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from metainfer.files import write_atomic
from metainfer.ir.diagnostics import error
from metainfer.ir.printing import View
from metainfer.passes.base import STAGE
from metainfer.passes.instruments.base import Instrument, Step

Sink = Callable[[str], None]
"""Takes text that ends in a newline; the command line gives standard error."""


class Everything(Container[str]):
    """Holds every name: dumps around all passes."""

    def __contains__(self, name: object) -> bool:
        return True


def content(module: ModuleOp, view: View) -> str:
    """The view of `module` without the mark of the pass that ran last: that one always changes."""
    stage = module.attributes.pop(STAGE, None)
    try:
        return view.text(module)
    finally:
        if stage is not None:
            module.attributes[STAGE] = stage


@dataclass
class PrintIR(Instrument):
    """Prints the module before and after passes under MLIR's banners."""

    view: View
    sink: Sink
    before_names: Container[str] = ()
    after_names: Container[str] = ()
    only_changes: bool = False
    """After a pass, print only what differs from before it."""
    on_failure: bool = False
    """Print what a failing pass left behind."""
    _text: str = field(default="", init=False)

    def before(self, step: Step) -> None:
        if step.name in self.before_names:
            self._print(f"Before {step.name}", step.module)
        if self.only_changes and step.name in self.after_names:
            self._text = content(step.module, self.view)

    def after(self, step: Step) -> None:
        if step.name not in self.after_names:
            return
        if not self.only_changes or content(step.module, self.view) != self._text:
            self._print(f"After {step.name}", step.module)

    def failed(self, step: Step, problem: Exception) -> None:
        if self.on_failure or step.name in self.after_names:
            self._print(f"After {step.name} Failed", step.module)

    def _print(self, when: str, module: ModuleOp) -> None:
        self.sink(f"// -----// IR Dump {when} //----- //\n{self.view.text(module)}\n")


@dataclass
class PrintDiff(Instrument):
    """Prints what each pass changed as a unified diff; nothing for a pass that changed nothing."""

    view: View
    sink: Sink
    _text: str = field(default="", init=False)

    def before(self, step: Step) -> None:
        self._text = content(step.module, self.view)

    def after(self, step: Step) -> None:
        self._print(step, "after")

    def failed(self, step: Step, problem: Exception) -> None:
        self._print(step, "failed")

    def _print(self, step: Step, how: str) -> None:
        now = content(step.module, self.view)
        lines = difflib.unified_diff(
            self._text.splitlines(keepends=True),
            now.splitlines(keepends=True),
            f"before {step.name}",
            f"{how} {step.name}",
        )
        if text := "".join(lines):
            self.sink(text)


_DUMP = re.compile(r"\d{3}-[A-Za-z0-9_-]+\.mlir")


@dataclass
class DumpTree(Instrument):
    """Writes `000-input.mlir`, then `NNN-pass.mlir` after each pass, into a folder of its own.

    A folder that holds earlier dumps is emptied first; one that holds anything else is refused.
    """

    folder: Path
    view: View

    def start(self, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        self._claim()
        self._write("000-input.mlir", module)

    def after(self, step: Step) -> None:
        self._write(f"{step.number:03d}-{step.name}.mlir", step.module)

    def failed(self, step: Step, problem: Exception) -> None:
        self._write(f"{step.number:03d}-{step.name}-failed.mlir", step.module)

    def _write(self, name: str, module: ModuleOp) -> None:
        write_atomic(self.folder / name, self.view.text(module))

    def _claim(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise error(f"cannot write dumps to {self.folder}: it is a file")
        held = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        for path in held:
            if not _DUMP.fullmatch(path.name):
                raise error(
                    f"cannot write dumps to {self.folder}: it holds {path.name}, which is no dump",
                    help="name a folder that is new or holds dumps only",
                )
        for path in held:
            path.unlink()
