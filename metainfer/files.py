"""Places on disk and all-or-nothing writes."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_dir() -> Path:
    """`$METAINFER_CACHE`, else `$XDG_CACHE_HOME/metainfer`, else `~/.cache/metainfer`."""
    if own := os.environ.get("METAINFER_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "metainfer"


def write_atomic(path: Path, data: bytes | str, mode: int = 0o644) -> None:
    """Write `path` so that a reader sees the old file or the new one, never a part.

    A link keeps pointing where it does; a pipe or a device is written to and never replaced.
    """
    path = path.resolve()
    raw = data.encode() if isinstance(data, str) else data
    if path.exists() and not path.is_file():
        path.write_bytes(raw)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(raw)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


@contextmanager
def atomic_dir(target: Path) -> Iterator[Path]:
    """A fresh directory that becomes `target` when the block ends well, and vanishes otherwise.

    An existing `target` is replaced; it stays untouched when the block raises.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        os.chmod(fresh, 0o755)
        yield fresh
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _swap(fresh: Path, target: Path) -> None:
    """Give `target` the folder `fresh` in one step; one that was there is then at `fresh`."""
    try:
        os.replace(fresh, target)  # also onto a folder that is empty
    except OSError as problem:
        if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not _exchange(fresh, target):
            _move_aside(fresh, target)


def _exchange(one: Path, other: Path) -> bool:
    """Swap the names of two folders, as Linux can; False where the file system cannot."""
    import ctypes

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    names = (os.fsencode(one), os.fsencode(other))
    if rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(number, os.strerror(number), str(other))


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
"""From `fcntl.h` and `linux/fs.h`."""


def _move_aside(fresh: Path, target: Path) -> None:
    """The same in two steps, between which there is no `target`."""
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
    os.replace(target, old / target.name)
    try:
        os.replace(fresh, target)
    except BaseException:
        os.replace(old / target.name, target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
