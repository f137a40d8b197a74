"""Why pip could not fetch a package, told from its messages; addresses and paths are left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from metainfer.ir.diagnostics import DiagnosticError, Note, Place, did_you_mean, error

_LISTED = 12
_OFFLINE = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|NameResolutionError|ProxyError|Max retries|"
    r"Name or service not known|Temporary failure in name resolution|Network is unreachable"
)
_VERSIONS = re.compile(r"\(from versions: ([^)]*)\)")


@dataclass(frozen=True)
class Requirement:
    """A package, with a version when one is pinned."""

    name: str
    version: str | None

    def __str__(self) -> str:
        return f"{self.name}=={self.version}" if self.version else self.name


def explain_pip_failure(requirement: Requirement, log: str, place: Place | None) -> DiagnosticError:
    """The error for a `pip download` that failed with `log` on stderr."""
    if "No module named pip" in log:
        message = "fetching a package needs pip, which this Python does not have"
        help = (
            f"install it with `python -m ensurepip`, or fetch '{requirement}' yourself and use "
            "`file:PATH`"
        )
    elif _OFFLINE.search(log):
        message = f"the package index cannot be reached to fetch '{requirement}'"
        help = "check the network and pip's configuration, or use `file:PATH` for a local copy"
    elif requirement.version and (versions := _known_versions(log)):
        return _no_version(requirement.name, requirement.version, versions, place)
    elif "No matching distribution found" in log:
        message = f"the package index has no wheel of a package '{requirement.name}'"
        help = "check the spelling of the package name"
    else:
        message = f"pip could not fetch '{requirement}'"
        help = f"`python -m pip download --no-deps {requirement}` shows the whole error"
    return error(message, place, notes=[Note(f"pip: {line}") for line in _tail(log)], help=help)


def _no_version(
    name: str, version: str, versions: list[str], place: Place | None
) -> DiagnosticError:
    near = did_you_mean(version, versions)
    return error(
        f"package '{name}' has no version {version} with a wheel",
        place,
        notes=(Note(f"versions: {', '.join(versions[-_LISTED:])}"),),
        help=near or f"use one of these versions, or '{name}' for the newest",
    )


def _known_versions(log: str) -> list[str]:
    found = _VERSIONS.search(log)
    if not found or found[1].strip() == "none":
        return []
    return [version.strip() for version in found[1].split(",") if version.strip()]


def _tail(log: str, lines: int = 3) -> list[str]:
    """The last lines of pip's output, without addresses: they may name private hosts."""
    kept = [line.strip() for line in log.splitlines() if line.strip()]
    return [_scrub(line)[:300] for line in kept[-lines:]]


def _scrub(line: str) -> str:
    line = re.sub(r"\b[A-Za-z][A-Za-z+.-]*://[^\s'\")>]+", "<address>", line)
    line = re.sub(r"(host=)'[^']*'", r"\1<host>", line)
    line = re.sub(r"(?i)(resolve|connect to|host) '?[\w-]+(\.[\w-]+)+'?", r"\1 <host>", line)
    line = re.sub(r"\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b", "<host>", line)
    return re.sub(r"(?<![\w.<])/[^\s'\"]+", "<path>", line)
