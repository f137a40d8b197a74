"""Files of the cache that are used without being read: the digest of each lies beside it.

What a crash, a full disk or a flipped bit has damaged is made anew, not built into an engine.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from metainfer.files import write_atomic

SUFFIX = ".sha256"


def digest_beside(path: Path) -> str | None:
    """The recorded SHA-256 of a file; None where there is none."""
    try:
        return _seal(path).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None


def is_whole(path: Path) -> bool | None:
    """Whether a file has the digest beside it; None where one of the two is missing."""
    recorded = digest_beside(path)
    if recorded is None:
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == recorded
    except OSError:
        return None


def write_sealed(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file and its digest, each all or nothing."""
    seal(path, hashlib.sha256(data).hexdigest())
    write_atomic(path, data, mode)


def seal(path: Path, digest: str) -> None:
    """Record the digest of a file that is about to appear: without the file it means nothing."""
    write_atomic(_seal(path), f"{digest}\n")


def _seal(path: Path) -> Path:
    return path.with_name(path.name + SUFFIX)
