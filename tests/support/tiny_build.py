"""A tiny model built once by the command line, and shells that share its cache."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from command_line import Shell
from tiny_llama import TinyLlama, write_spec

CONTEXT = 2048
"""Long enough that a generation can be interrupted."""
MODEL, SPEC, BUILD = "tiny.gguf", "tiny.mispec", "out"


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tiny-build-")


def shell_in(folder: Path, cache: Path) -> Shell:
    """A shell in `folder`, which is given the model and the spec of `TinyLlama`."""
    temporary = folder.with_name(f"{folder.name}-temporary")
    temporary.mkdir()
    write_spec(folder, TinyLlama(context=CONTEXT))
    return Shell(folder, cache, temporary)


@cache
def warm() -> Shell:
    """The shell that built `BUILD`; its cache holds all that this took."""
    top = Path(_folder().name)
    (top / "work").mkdir()
    shell = shell_in(top / "work", top / "cache")
    done = shell.run("metainfer", "compile", SPEC, "-o", BUILD)
    assert (done.code, done.out, done.err) == (0, f"{BUILD}\n", ""), done
    return shell


def warm_shell(folder: Path) -> Shell:
    """A shell in `folder` on the warm cache."""
    return shell_in(folder, warm().cache)


def built_shell(folder: Path) -> Shell:
    """A shell in `folder` on the warm cache, with a finished build in `BUILD`."""
    shell = warm_shell(folder)
    shutil.copytree(warm().folder / BUILD, folder / BUILD, copy_function=shutil.copy2)
    return shell
