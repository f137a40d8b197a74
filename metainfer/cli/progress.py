"""Progress of a download on standard error: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def byte_progress(title: str, quiet: bool) -> Iterator[Callable[[int, int | None], None] | None]:
    """Yields `progress(done_bytes, total_bytes or None)`, or None when nothing is to be shown."""
    if quiet or not sys.stderr.isatty():
        yield None
        return

    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)

        def progress(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total)

        yield progress
