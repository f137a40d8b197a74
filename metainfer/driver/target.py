"""The folder that a build replaces, and what keeps it from being written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metainfer.ir.diagnostics import DiagnosticError, error

MANIFEST = "manifest.json"
"""Only an engine folder has one at its top."""

_CAUSES = frozenset(
    {
        errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG,
        errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG,
    }
)  # fmt: skip
"""Errors that lie with the user's disk; others are ours."""


def engine_target(out: Path) -> Path:
    """`out` with its links followed; refused where a build would destroy or could not write.

    Compiling replaces the whole folder, so it must be new, empty or an engine.
    """
    target = Path(os.path.realpath(out))
    if target in (here := Path.cwd(), *here.parents):
        raise error(f"cannot replace {out}: it holds the current folder", help=_OTHER)
    try:
        _check_present(out, target)
    except OSError as problem:
        raise _unwritable(out, problem) from None
    above = next(folder for folder in target.parents if folder.exists())
    if not above.is_dir():
        raise error(f"cannot write {out}: {above} is no folder", help=_OTHER)
    if not os.access(above, os.W_OK | os.X_OK):
        raise error(f"cannot write {out}: {above} is read-only", help=_OTHER)
    return target


_OTHER = "name another folder with -o"


def _check_present(out: Path, target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise error(f"cannot write {out}: it is a file, and an engine is a folder", help=_OTHER)
    if any(target.iterdir()) and not (target / MANIFEST).is_file():
        raise error(f"cannot replace {out}: it is a folder of other files", help=_OTHER)


@contextmanager
def writing(what: Path) -> Iterator[None]:
    """Turns the failure of a write below `what` into an error that names it."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in _CAUSES:
            raise
        raise _unwritable(what, problem) from problem


def _unwritable(what: Path, problem: OSError) -> DiagnosticError:
    return error(f"cannot write {what}: {(problem.strerror or '').lower()}")
