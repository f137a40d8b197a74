"""The runner: one small C program, compiled on first use and kept like every other object."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from os import environ
from pathlib import Path

from metainfer.codegen.c.toolchain import Compiler, find_compiler

FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra")
LINK = ("-ldl",)


def runner(compiler: Compiler | None = None) -> Path:
    """The runner's executable; DiagnosticError where there is no C compiler."""
    source = (files(__package__) / "runner.c").read_text(encoding="utf-8")
    compiler = compiler or _default(environ.get("CC"), environ.get("PATH"))
    return compiler.program(source, "runner.c", FLAGS, LINK)


@cache
def _default(cc: str | None, path: str | None) -> Compiler:
    """The compiler of this environment, asked for its name once."""
    return find_compiler()
