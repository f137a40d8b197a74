"""Files from outside as read-only maps, and what reading one may cost."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from metainfer.ir.diagnostics import error


def map_file(path: Path, smallest: int, kind: str) -> mmap.mmap:
    """Map a regular file of at least `smallest` bytes; anything else is no `kind` file."""
    try:
        # A FIFO would block the open, so look before opening.
        if not stat.S_ISREG(path.stat().st_mode):
            raise error(f"{path}: not a regular file")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < smallest:
                raise error(
                    f"{path}: not a {kind} file: it has {size} bytes, and the header alone "
                    f"takes {smallest}"
                )
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise error(f"{path}: cannot be read: {reason}") from None


class Budget:
    """Memory that what a header says may take: one time the file's size and a little more.

    A short text of the file becomes a larger object in memory, so a file could otherwise be made
    that takes many times its size.
    """

    _FREE = 8 << 20

    def __init__(self, file_size: int) -> None:
        self.limit = file_size + self._FREE
        self._spent = 0

    @property
    def left(self) -> int:
        """What may still be spent."""
        return self.limit - self._spent

    def spend(self, nbytes: int) -> bool:
        """Count `nbytes`; False when that is more than the limit allows."""
        self._spent += nbytes
        return self._spent <= self.limit
