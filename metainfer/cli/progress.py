"""How far a command is, on standard error: a live line on a terminal, plain lines if asked for."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

_MB = 1_000_000
_REPORTED_BYTES = 16 * _MB
"""Between two plain lines about a download."""


class Progress:
    """Says nothing; the base of those that do. Use it as a context, which ends its display."""

    def stage(self, line: str) -> None:
        """The command is now doing what `line` says."""

    def fetched(self, done: int, total: int | None) -> None:
        """`done` bytes of a download are here; `total` is None while it is not known."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        stack: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the display away."""


class Lines(Progress):
    """One line a stage, with the seconds since the command began."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._due = 0

    def stage(self, line: str) -> None:
        seconds = time.monotonic() - self._start
        print(f"[{seconds:6.1f} s] {line}", file=sys.stderr, flush=True)

    def fetched(self, done: int, total: int | None) -> None:
        if done >= self._due:
            self._due = done + _REPORTED_BYTES
            self.stage(_download(done, total))


class Live(Progress):
    """One line that changes and disappears at the end."""

    def __init__(self) -> None:
        self._status: Status | None = None

    def stage(self, line: str) -> None:
        if self._status is None:
            # Imported when there is something to show: a warm run should not wait for it.
            from rich.console import Console
            from rich.status import Status

            self._status = Status("", console=Console(stderr=True))
            self._status.start()

        from rich.markup import escape

        self._status.update(escape(line))

    def fetched(self, done: int, total: int | None) -> None:
        self.stage(_download(done, total))

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def progress_of(quiet: bool, verbose: bool) -> Progress:
    """Lines if `verbose`, else a live line if standard error is a terminal and not `quiet`."""
    if quiet:
        return Progress()
    if verbose:
        return Lines()
    return Live() if sys.stderr.isatty() else Progress()


def _download(done: int, total: int | None) -> str:
    whole = f" of {total / _MB:.1f}" if total else ""
    return f"fetching the model: {done / _MB:.1f}{whole} MB"
