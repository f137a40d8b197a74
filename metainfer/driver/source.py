"""Reading what the user wrote: `.mispec` text, or a dump of any stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metainfer.ir.diagnostics import Place, did_you_mean, error

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

SUFFIXES = (".mispec", ".mlir")


def read_source(path: Path, *suffixes: str) -> bytes:
    """The bytes of a file whose name ends in one of `suffixes` (default: all of `SUFFIXES`)."""
    allowed = suffixes or SUFFIXES
    if path.suffix not in allowed:
        raise error(f"{path}: expected a {' or '.join(allowed)} file")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        near = [p.name for p in path.parent.glob(f"*{path.suffix}")]
        raise error(
            f"cannot read {path}: no such file", help=did_you_mean(path.name, near)
        ) from None
    except OSError as problem:
        raise error(f"cannot read {path}: {(problem.strerror or '').lower()}") from None


def with_used(spec: bytes, path: Path) -> bytes:
    """The bytes of a spec read from `path` and of the files that it uses: what it says in all."""
    from metainfer.spec.files import used_texts

    texts = used_texts(decode_source(spec, str(path)), str(path))
    return b"\0".join([spec, *(text.encode() for text in texts)])


def decode_source(raw: bytes, name: str) -> str:
    """`raw` as text; the error points at the first byte that is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        column = problem.start - (raw.rfind(b"\n", 0, problem.start) + 1) + 1
        raise error("this byte is not UTF-8 text", Place(name, line, column)) from None


def parse_source(text: str, name: str, ctx: Context) -> ModuleOp:
    """The module that `text` spells, in the language that the suffix of `name` says."""
    if name.endswith(".mispec"):
        from metainfer.spec.frontend import parse_mispec

        return parse_mispec(text, name)

    from metainfer.ir.text import parse_module

    return parse_module(text, name, ctx)


def read_module(path: Path, ctx: Context) -> ModuleOp:
    """The module of a `.mispec` or `.mlir` file."""
    return parse_source(decode_source(read_source(path), str(path)), str(path), ctx)
