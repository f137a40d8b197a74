"""`metainfer fmt`: lay out spec files, or print what a file says in canonical form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from metainfer.cli.boundary import DONE, REJECTED, guarded
from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, error

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help="Spec files; - reads standard input.")
]
Check = Annotated[
    bool, typer.Option("--check", help="Change nothing; name the files that would change.")
]
Canonical = Annotated[
    bool,
    typer.Option(
        "--canonical",
        help="Print the canonical form of one file, the files it uses included, and its hash.",
    ),
]


def fmt_command(files: Files, check: Check = False, canonical: Canonical = False) -> None:
    """Lay out FILEs: comments stay, formatting twice changes nothing more."""
    run = _Run()
    body = run.print_canonical if canonical else run.format
    raise typer.Exit(guarded(lambda: body(files, check), sources=run.sources))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("fmt")(fmt_command)


STDIN = Path("-")
_NAME = "<stdin>"


class _Run:
    """One run of the command; remembers standard input, for excerpts in diagnostics."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}

    def format(self, files: list[Path], check: bool) -> int:
        """Lay out all files that can be read, then report the others."""
        problems: list[Diagnostic] = []
        changed = False
        for path in files:
            try:
                changed |= self._format_one(path, check)
            except DiagnosticError as problem:
                problems += problem.diagnostics
        if problems:
            raise DiagnosticError(*problems)
        return REJECTED if check and changed else DONE

    def _format_one(self, path: Path, check: bool) -> bool:
        """Whether the file is not laid out as it should be; it is then, unless `check`."""
        from metainfer.spec.formatter import format_text

        text = self._read(path)
        laid_out = format_text(text, _name(path))
        if check:
            if laid_out != text:
                print(f"would change {_name(path)}")
        elif path == STDIN:
            sys.stdout.write(laid_out)
        elif laid_out != text:
            _write(path, laid_out)
            print(f"changed {path}")
        return laid_out != text

    def print_canonical(self, files: list[Path], check: bool) -> int:
        """What a file says and what the files say that it uses, in the one form, with its hash."""
        from metainfer.spec.files import read_spec_file
        from metainfer.spec.printer import canonical, spec_hash
        from metainfer.spec.reading import read_spec
        from metainfer.spec.uses import resolve

        if len(files) != 1 or check:
            raise error("--canonical takes one file and no --check")
        name = _name(files[0])
        reading = read_spec(self._read(files[0]), name)
        if reading.problems or reading.sheet is None:
            raise DiagnosticError(*reading.problems)
        sheet = resolve(reading.sheet, name, read_spec_file)
        sys.stdout.write(f"// {spec_hash(sheet)}\n{canonical(sheet)}")
        return DONE

    def _read(self, path: Path) -> str:
        from metainfer.driver.source import decode_source, read_source

        if path != STDIN:
            return decode_source(read_source(path, ".mispec"), str(path))
        text = decode_source(sys.stdin.buffer.read(), _NAME)
        self.sources[_NAME] = text
        return text


def _name(path: Path) -> str:
    return _NAME if path == STDIN else str(path)


def _write(path: Path, text: str) -> None:
    """Replace the file that `path` leads to, not a link on the way, and leave its mode alone."""
    from metainfer.files import write_atomic

    try:
        target = path.resolve()
        mode = target.stat().st_mode
        write_atomic(target, text)
        target.chmod(mode)
    except OSError as problem:
        raise error(f"cannot write {path}: {(problem.strerror or '').lower()}") from None
