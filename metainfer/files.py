"""Places on disk and all-or-nothing writes."""

from __future__ import annotations

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


def write_atomic(path: Path, data: bytes | str) -> None:
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
        os.chmod(name, 0o644)
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
    if not target.exists():
        os.replace(fresh, target)
        return
    old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old."))
    os.replace(target, old / target.name)
    try:
        os.replace(fresh, target)
    except BaseException:
        os.replace(old / target.name, target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)
