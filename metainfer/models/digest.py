"""SHA-256 of large files, remembered so that a warm run does not read them again.

The memory of a file lies in `cache_dir()/digests`, never beside the file: that folder may be
read-only or belong to the user. An entry counts only while size, modification time and change time
are those seen when the file was hashed; the change time also moves when someone resets the other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from metainfer.files import cache_dir, write_atomic
from metainfer.ir.diagnostics import error

_CHUNK = 1 << 20
_MODEL_SUFFIXES = (".json", ".safetensors", ".jinja")
"""What a Hugging Face folder is read from; a changed README is no other model."""


def digest_of(path: Path) -> str:
    """The SHA-256 of the file in lower-case hex, from memory when the file has not changed.

    Of a folder: that of the names and digests of its model files, one a line.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix in _MODEL_SUFFIXES)
        lines = [f"{digest_of(file)}  {file.name}\n" for file in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    try:
        with path.open("rb") as file:
            stamp = _stamp(os.fstat(file.fileno()))
            if known := _recall(path, stamp):
                return known
            digest = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
            unchanged = _stamp(os.fstat(file.fileno())) == stamp
    except OSError as problem:
        raise error(f"cannot read {path}: {problem.strerror or problem}") from None
    if unchanged:
        _store(path, stamp, digest.hexdigest())
    return digest.hexdigest()


def remember_digest(path: Path, digest: str) -> None:
    """Record the SHA-256 of a file whose bytes the caller has just hashed and written."""
    _store(path, _stamp(path.stat()), digest)


def _stamp(stat: os.stat_result) -> list[int]:
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _entry(path: Path) -> Path:
    key = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return cache_dir() / "digests" / f"{key}.json"


def _recall(path: Path, stamp: list[int]) -> str | None:
    try:
        entry = json.loads(_entry(path).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(entry, dict) or entry.get("stamp") != stamp:
        return None
    digest = entry.get("sha256")
    return digest if isinstance(digest, str) else None


def _store(path: Path, stamp: list[int], digest: str) -> None:
    # The memory only saves time: a cache that cannot be written costs a second hash, no error.
    with contextlib.suppress(OSError):
        write_atomic(_entry(path), json.dumps({"stamp": stamp, "sha256": digest}) + "\n")
