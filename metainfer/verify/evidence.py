"""Verdicts on disk, reused while kernel and verifier are the same.

An entry that is damaged, or belongs to another kernel or verifier, is never trusted: looking it up
gives the reason, and the kernel is verified again.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metainfer.files import write_atomic
from metainfer.verify.verdict import Verdict
from metainfer.verify.version import VERIFIER

_MAX_BYTES = 64 * 1024
_FIELDS = {"kernel", "verifier", "status", "stage", "worst_ratio", "cases"}


@dataclass(frozen=True)
class Found:
    """A lookup's answer: a verdict to reuse, or why an existing entry is not used, or neither."""

    verdict: Verdict | None = None
    ignored: str | None = None


class EvidenceStore:
    """A directory with one file per (kernel key, verifier version)."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: str) -> Path:
        """Where the evidence for a kernel key lies."""
        return self.directory / f"{_digest(f'{VERIFIER}|{key}'.encode())}.json"

    def lookup(self, key: str) -> Found:
        """The `verified` verdict for `key`, if there is one that can be trusted."""
        path = self.path(key)
        try:
            with path.open("rb") as file:
                raw = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            return Found()
        except OSError as problem:
            return Found(ignored=f"evidence cannot be read: {problem.strerror}")
        try:
            return Found(verdict=_decode(raw, key))
        except _Untrusted as problem:
            return Found(ignored=str(problem))

    def record(self, key: str, verdict: Verdict) -> None:
        """Keep a verdict; only `verified` ones are worth keeping."""
        if verdict.status != "verified":
            return
        content = {
            "kernel": key,
            "verifier": VERIFIER,
            "status": verdict.status,
            "stage": verdict.stage,
            "worst_ratio": verdict.worst_ratio,
            "cases": verdict.cases,
        }
        entry = {"content": content, "sha256": _digest(_canonical(content))}
        write_atomic(self.path(key), json.dumps(entry, indent=1, sort_keys=True) + "\n")


class _Untrusted(Exception):
    """Why an entry is ignored."""


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _decode(raw: bytes, key: str) -> Verdict:
    content = _content(raw)
    if content["kernel"] != key:
        raise _Untrusted("evidence belongs to another kernel")
    if content["verifier"] != VERIFIER:
        raise _Untrusted(f"evidence is by verifier {content['verifier']!r}, this is {VERIFIER!r}")
    if (content["status"], content["stage"]) != ("verified", "complete"):
        raise _Untrusted("evidence does not say verified")
    ratio, cases = content["worst_ratio"], content["cases"]
    if type(ratio) is not float or not math.isfinite(ratio) or not 0.0 <= ratio <= 1.0:
        raise _Untrusted("evidence has an impossible error ratio")
    if type(cases) is not int or cases < 1:
        raise _Untrusted("evidence counts no case")
    return Verdict("verified", "complete", ratio, cases, None)


def _content(raw: bytes) -> dict[str, Any]:
    if len(raw) > _MAX_BYTES:
        raise _Untrusted("evidence is too large")
    try:
        entry = json.loads(raw)
    except (ValueError, RecursionError):
        raise _Untrusted("evidence is damaged: not JSON") from None
    if not isinstance(entry, dict) or set(entry) != {"content", "sha256"}:
        raise _Untrusted("evidence is damaged: not an entry")
    content = entry["content"]
    if not isinstance(content, dict) or set(content) != _FIELDS:
        raise _Untrusted("evidence is damaged: not a verdict")
    if entry["sha256"] != _digest(_canonical(content)):
        raise _Untrusted("evidence is damaged: its digest differs")
    return content
