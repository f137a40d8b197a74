"""Finding a C compiler and running it, with every result kept by content."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from metainfer.files import cache_dir
from metainfer.ir.diagnostics import Note, error
from metainfer.reports import Report, quiet
from metainfer.sealed import is_whole, write_sealed

FLAGS = (
    "-std=gnu11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-pthread",
    "-Wall", "-Wextra",
)  # fmt: skip
"""Strict floating point: no contraction, no reassociation; the instruction set comes on top."""
LINK = ("-shared", "-pthread", "-Wl,--build-id=none", "-Wl,-z,noexecstack")


@dataclass(frozen=True)
class Compiler:
    """A C compiler by its command; `notice` is told of a kept file that is damaged."""

    command: tuple[str, ...]
    notice: Report = field(default=quiet, compare=False)

    @cached_property
    def identity(self) -> str:
        """First line of its version and its target: part of every key."""
        lines = [
            subprocess.run([*self.command, option], capture_output=True, text=True).stdout
            for option in ("--version", "-dumpmachine")
        ]
        return " ".join(text.splitlines()[0] if text else "?" for text in lines)

    def object(
        self, source: str, headers: Mapping[str, str], name: str, flags: Sequence[str]
    ) -> Path:
        """The object file of `source`, compiled at most once for this content and these flags."""
        texts = [
            self.identity,
            *FLAGS,
            *flags,
            source,
            *(t for kv in sorted(headers.items()) for t in kv),
        ]
        path = _cached("objects", texts, ".o")
        if not self._kept(path):
            files = {name: source, **headers}
            write_sealed(path, self._run(files, [*FLAGS, *flags, "-c", name], path.name))
        return path

    def link(self, objects: Sequence[Path]) -> Path:
        """A shared library of `objects`, linked at most once."""
        path = _cached("libraries", [self.identity, *LINK, *(o.name for o in objects)], ".so")
        if not self._kept(path):
            arguments = [*LINK, *map(str, objects), "-lm"]
            write_sealed(path, self._run({}, arguments, path.name))
        return path

    def program(self, source: str, name: str, flags: Sequence[str], link: Sequence[str]) -> Path:
        """An executable of one source file, built at most once."""
        path = _cached("programs", [self.identity, *flags, *link, source], "")
        if not self._kept(path):
            write_sealed(path, self._run({name: source}, [*flags, name, *link], path.name), 0o755)
        return path

    def _kept(self, path: Path) -> bool:
        """Whether an earlier result is there and whole."""
        whole = is_whole(path)
        if whole is False:
            self.notice(f"{path} is damaged: it is made anew")
        return bool(whole)

    def _run(self, files: Mapping[str, str], arguments: Sequence[str], out: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="metainfer-cc-") as folder:
            for name, text in files.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            # The compiler's own temporary files go where they are removed if it is interrupted.
            environment = {**os.environ, "TMPDIR": folder}
            done = subprocess.run(
                [*self.command, *arguments, "-o", out],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
            )
            if done.returncode:
                first = next((x for x in done.stderr.splitlines() if "error" in x), done.stderr)
                raise error(f"the C compiler failed: {first}", notes=[Note(done.stderr[-2000:])])
            return (Path(folder) / out).read_bytes()


def _cached(kind: str, texts: Sequence[str], suffix: str) -> Path:
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode()
        digest.update(f"{len(raw)}\n".encode() + raw)
    return cache_dir() / kind / f"{digest.hexdigest()}{suffix}"


def find_compiler(wanted: str | None = None) -> Compiler:
    """`wanted`, else `$CC`, else cc, gcc or clang of the PATH, else the wheel `ziglang`.

    DiagnosticError with two ways to get one when there is none.
    """
    for name in (wanted, os.environ.get("CC")):
        if name:
            if shutil.which(name.split()[0]) is None:
                raise error(f"C compiler '{name}' is not on the PATH")
            return Compiler(tuple(name.split()))
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return Compiler((name,))
    if find_spec("ziglang"):
        return Compiler((sys.executable, "-m", "ziglang", "cc"))
    raise error(
        "no C compiler found (looked for cc, gcc, clang, and the package ziglang)",
        help="install one: apt-get install gcc; or: pip install ziglang",
    )
