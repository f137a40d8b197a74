"""Runs the commands in a page's `console` blocks and puts their output under them.

A block holds lines that begin with `$ `; what else it holds is output and is replaced. The
commands run in this process, in a fresh copy of a folder of examples: `metainfer-opt`, `cat`, `ls`,
and `| head -N` or `| grep WORD` after one of them.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from metainfer.cli.opt import main as metainfer_opt

_BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)
_TIME = re.compile(r"\d+\.\d{4} \( *\d+\.\d%\)")


def with_output(page: str, examples: Path) -> str:
    """The page with the present output of its commands."""
    with tempfile.TemporaryDirectory(prefix="metainfer-docs-") as folder:
        shutil.copytree(examples, folder, dirs_exist_ok=True)
        with _inside(Path(folder)):
            return _BLOCK.sub(lambda match: f"```console\n{_block(match[1])}```\n", page)


def _block(text: str) -> str:
    commands = [line for line in text.splitlines() if line.startswith("$ ")]
    return "".join(f"{command}\n{run(command[2:])}" for command in commands)


def run(command: str) -> str:
    """Standard output and standard error of a command, in the order in which they came."""
    first, *filters = _pipe(shlex.split(command))
    name, *arguments = first
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        if name == "metainfer-opt":
            _opt(arguments)
        elif name == "cat":
            out.write("".join(Path(a).read_text(encoding="utf-8") for a in arguments))
        elif name == "ls":
            out.write("".join(f"{n}\n" for n in sorted(os.listdir(arguments[0]))))
        else:
            raise ValueError(f"the pages have no command {name}")
    text = _stable(out.getvalue())
    for one in filters:
        text = _filtered(text, one)
    return text if not text or text.endswith("\n") else f"{text}\n"


def _pipe(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _opt(arguments: list[str]) -> None:
    with contextlib.suppress(SystemExit):  # argparse's way to end after --help
        metainfer_opt(arguments)


def _filtered(text: str, words: list[str]) -> str:
    lines = text.splitlines(keepends=True)
    match words:
        case ["head", count]:
            return "".join(lines[: int(count.lstrip("-"))])
        case ["grep", word]:
            return "".join(line for line in lines if word in line)
    raise ValueError(f"the pages have no filter {words}")


def _stable(text: str) -> str:
    """Text without what changes from run to run."""
    text = _TIME.sub("0.0000 (  0.0%)", text)
    return re.sub(r"Total Execution Time: [\d.]+", "Total Execution Time: 0.0000", text)


@contextlib.contextmanager
def _inside(folder: Path):  # type: ignore[no-untyped-def]
    """The folder as current one, with terminals of a fixed width."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    loaded = set(sys.modules)
    os.chdir(folder)
    os.environ["COLUMNS"] = "100"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
        for name in set(sys.modules) - loaded:
            if name.startswith("metainfer_plugin_"):
                del sys.modules[name]
