"""The outermost frame of both command lines: here errors become text and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place, render

DONE = 0
REJECTED = 1
"""The input is wrong, infeasible or unreadable: a diagnostic says why."""
USAGE = 2
INTERNAL = 3
INTERRUPTED = 130

_ENVIRONMENT = frozenset(
    {errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
)
"""Failures of a write that no change to metainfer would cure."""


class Terminated(SystemExit):
    """A signal asked the process to end; the code is 128 and its number, as shells report it."""


def end_on_signals() -> None:
    """Let a plea to end unwind the stack as an interrupt does, so that temporary files go."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Who started us may have had it ignored, as nohup does.
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(128 + number)


@dataclass(frozen=True)
class Reproducer:
    """What it takes to meet an internal error again: a file's text and the command to run on it."""

    suffix: str
    text: str
    command: str
    """The command line, with `%s` for the file."""


def guarded(
    body: Callable[[], int],
    *,
    sources: Mapping[str, str] | None = None,
    reproducer: Callable[[], Reproducer | None] = lambda: None,
    traceback: bool = False,
) -> int:
    """The exit code of `body`, whatever happens in it.

    `sources` holds texts that are no files (standard input, a pipeline) under the names their
    places use. `reproducer` is asked only after an internal error. `traceback` prints the stack of
    an internal error too, not only the file that holds it.
    """
    try:
        code = body()
        sys.stdout.flush()
        return code
    except DiagnosticError as problem:
        _print_diagnostics(problem.diagnostics, sources or {})
        return REJECTED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Terminated as end:
        print("terminated", file=sys.stderr)
        raise end
    except BrokenPipeError:
        # The reader went away; the interpreter's last flush must not complain about it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REJECTED
    except Exception as problem:
        if isinstance(problem, OSError) and problem.errno in _ENVIRONMENT:
            where = f"{problem.filename}: " if problem.filename else ""
            print(f"error: {where}{problem.strerror}", file=sys.stderr)
            return REJECTED
        _print_crash(problem, reproducer(), traceback)
        return INTERNAL


def _print_diagnostics(diagnostics: tuple[Diagnostic, ...], sources: Mapping[str, str]) -> None:
    def read_line(place: Place) -> str | None:
        lines = sources[place.file].split("\n")
        return lines[place.line - 1] if 0 < place.line <= len(lines) else None

    for diagnostic in diagnostics:
        known = diagnostic.place is not None and diagnostic.place.file in sources
        text = render(diagnostic, read_line) if known else render(diagnostic)
        print(text, file=sys.stderr)


def _print_crash(problem: Exception, found: Reproducer | None, show: bool) -> None:
    from traceback import format_exception

    stack = "".join(format_exception(problem))
    if show:
        print(stack, end="", file=sys.stderr)
    path = _write_report(stack, found)
    summary = str(problem).strip().split("\n", 1)[0]
    print(f"internal error: {type(problem).__name__}: {summary}", file=sys.stderr)
    print(f"This is a bug in metainfer. To report it, attach {path}", file=sys.stderr)
    if found:
        print(f"To meet it again: {found.command.replace('%s', path)}", file=sys.stderr)


def _write_report(stack: str, found: Reproducer | None) -> str:
    """Save stack and input in a fresh file of the temporary folder; comments keep it runnable."""
    import tempfile

    lines = [f"command: {' '.join(sys.argv)}", *stack.rstrip().split("\n")]
    if found:
        lines.insert(0, f"RUN: {found.command}")
    text = "".join(f"// {line}\n" for line in lines) + (found.text if found else "")
    suffix = found.suffix if found else ".txt"
    handle, path = tempfile.mkstemp(prefix="metainfer-crash-", suffix=suffix)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
    return path
