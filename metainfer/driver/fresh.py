"""Whether an engine folder is what compiling its spec now would give.

Asked before every `metainfer run`, so it reads no IR: what an engine was made from is kept as
digests in its manifest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metainfer.codegen.c.toolchain import Compiler, find_compiler
from metainfer.driver.source import read_source, with_used
from metainfer.driver.target import MANIFEST
from metainfer.ir.diagnostics import DiagnosticError
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.isa import host_isa
from metainfer.models.source import digest_of, resolve_source
from metainfer.resources import ckb_dir

_PACKAGE = Path(__file__).parents[1]
_MADE_BY_OTHERS = frozenset({"__pycache__", "_data"})
"""Folders of the package that hold no source: byte code, and the contracts with a digest apart."""


def inputs_of(
    spec: bytes, dump: bytes | None, knowledge: Knowledge, compiler: Compiler
) -> dict[str, str]:
    """What decides an engine, the model apart: digests by the names of `_REASONS`.

    `dump` is what the compilation resumes from, if not from `spec`.
    """
    return _without_compiler(spec, dump, knowledge) | {"compiler": compiler.identity}


def model_inputs(uri: str, digest: str) -> dict[str, str]:
    """The model's part: where it comes from and the SHA-256 of its file."""
    return {"source": uri, "model": digest}


def why_stale(path: Path, out: Path, ckb: Path | None = None, cc: str | None = None) -> str | None:
    """Why the spec `path` has to be compiled into `out` before a run; None if it need not be.

    Without a C compiler an engine counts as made by the right one, and without its downloaded
    model as made from that. Raises DiagnosticError if the spec cannot be read.
    """
    spec = with_used(read_source(path, ".mispec"), path)
    manifest = _manifest(out)
    if manifest is None:
        return "there is no engine yet"
    recorded = manifest["inputs"]
    for name, value in _present(spec, path.parent, Knowledge(ckb_dir(), ckb), cc, recorded):
        if recorded.get(name) != value:
            return _REASONS[name]
    return next(_edits(out, manifest["files"]), None)


_REASONS = {
    "spec": "the spec has changed",
    "metainfer": "metainfer has changed",
    "contracts": "the contracts have changed",
    "isa": "the machine is another",
    "compiler": "the C compiler is another",
    "model": "the model has changed",
}


def _manifest(folder: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    whole = isinstance(found.get("inputs"), dict) and isinstance(found.get("files"), dict)
    return found if whole else None


def _present(
    spec: bytes, base: Path, knowledge: Knowledge, cc: str | None, recorded: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """The inputs as they are now, as far as they can be told."""
    yield from _without_compiler(spec, None, knowledge).items()
    compiler = _compiler(cc)
    if compiler is not None:
        yield "compiler", compiler.identity
    model = _model(str(recorded.get("source")), base)
    if model is not None:
        yield "model", model


def _without_compiler(spec: bytes, dump: bytes | None, knowledge: Knowledge) -> dict[str, str]:
    texts = [spec] if dump is None else [spec, dump]
    return {
        "spec": hashlib.sha256(b"\0".join(texts)).hexdigest(),
        "metainfer": _tree_digest(_PACKAGE),
        "contracts": knowledge.digest(),
        "isa": host_isa(knowledge),
    }


def _tree_digest(root: Path) -> str:
    """SHA-256 over the names and bytes of all files below `root`."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.is_file() and not _MADE_BY_OTHERS.intersection(name.parts):
            data = path.read_bytes()
            digest.update(f"{name.as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _compiler(cc: str | None) -> Compiler | None:
    try:
        return find_compiler(cc)
    except DiagnosticError:
        if cc is not None:
            raise
        return None


def _model(uri: str, base: Path) -> str | None:
    """The digest of the model's file; None where the cache no longer has it."""
    try:
        return digest_of(resolve_source(uri, None, base=base, download=False))
    except DiagnosticError:
        # A `file:` that is gone makes the spec wrong: compiling it will say so at its place.
        return None if uri.startswith("pypi:") else ""


def _edits(folder: Path, files: Mapping[str, object]) -> Iterator[str]:
    for name, recorded in files.items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif _digest(path) != recorded:
            yield f"{name} was edited"


def _digest(path: Path) -> str:
    # Only the weights are so large that their digest is worth remembering.
    if path.suffix == ".bin":
        return digest_of(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()
