"""The shell of the pages: runs the commands of a `console` block in this process.

What a reader would type, as far as the pages need it: `metainfer-opt`, `python FILE`, `xdsl-opt`,
`pip install .`, `cat`, `ls` and `sed -i s/A/B/ FILE`, then `2>&1`, `> FILE`, and `| head -N`,
`| grep WORD` or `| filecheck FILE`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from metainfer.cli.opt import main as metainfer_opt

_TIME = re.compile(r"\d+\.\d{4} \( *\d+\.\d%\)")
_DRAWN = (
    (re.compile(r"(got|want|ratio)=(?!None)[^,)]+"), r"\1=…"),
    (re.compile(r"(first_bad_index=\(\d+), \d+"), r"\1, …"),
    (re.compile(r"in \d+ of (\d+) elements"), r"in … of \1 elements"),
)
"""Of a counter-example: its inputs depend on the kernel's key, and that on the C compiler."""


def run(command: str) -> str:
    """What a terminal would show: of a command with a filter, standard error comes first."""
    words, redirected = _redirection(shlex.split(command))
    first, *filters = _pipe(words)
    out, err = io.StringIO(), io.StringIO()
    if first[-1] == "2>&1" or not filters:
        err = out
        first = [word for word in first if word != "2>&1"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        _COMMANDS[first[0]](first[1:])
    shown = _stable(out.getvalue())
    for one in filters:
        shown = _filtered(shown, one)
    if redirected is not None:
        Path(redirected).write_text(shown, encoding="utf-8")
        shown = ""
    shown = shown if err is out else _stable(err.getvalue()) + shown
    return shown if not shown or shown.endswith("\n") else f"{shown}\n"


def _redirection(words: list[str]) -> tuple[list[str], str | None]:
    return (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)


def _pipe(words: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _stable(text: str) -> str:
    """Text without what changes from run to run and from machine to machine."""
    text = _TIME.sub("0.0000 (  0.0%)", text)
    text = re.sub(r"Total Execution Time: [\d.]+", "Total Execution Time: 0.0000", text)
    if "Failure(" in text:
        for pattern, instead in _DRAWN:
            text = pattern.sub(instead, text)
    return text


# === Commands ===


def _opt(arguments: list[str]) -> None:
    with contextlib.suppress(SystemExit):  # argparse's way to end after --help
        metainfer_opt(arguments)


def _python(arguments: list[str]) -> None:
    before = sys.argv
    sys.argv = arguments
    try:
        with contextlib.suppress(SystemExit):
            runpy.run_path(arguments[0], run_name="__main__")
    finally:
        sys.argv = before


def _xdsl_opt(arguments: list[str]) -> None:
    from xdsl.xdsl_opt_main import xDSLOptMain

    xDSLOptMain(args=arguments).run()


def _pip(arguments: list[str]) -> None:
    """What an installation of the current folder adds to it: its name and its entry points."""
    if [word for word in arguments if word != "-q"] != ["install", "."]:
        raise ValueError(f"the pages have no pip {' '.join(arguments)}")
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    folder = Path(f"{name.replace('-', '_')}-{version}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cat(arguments: list[str]) -> None:
    sys.stdout.write("".join(Path(a).read_text(encoding="utf-8") for a in arguments))


def _ls(arguments: list[str]) -> None:
    sys.stdout.write("".join(f"{n}\n" for n in sorted(os.listdir(arguments[0]))))


def _sed(arguments: list[str]) -> None:
    """`sed -i s/A/B/ FILE`: the first A of every line, which some line must have, becomes B."""
    option, script, name = arguments
    command, old, new, rest = script.split(script[1])
    if (option, command, rest) != ("-i", "s", ""):
        raise ValueError(f"the pages have no sed {' '.join(arguments)}")
    pattern = re.compile(_UNUSUAL.sub(r"\\\g<0>", old))
    path = Path(name)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = [pattern.sub(lambda _: new, line, count=1) for line in lines]
    if changed == lines:
        raise ValueError(f"nothing in {name} is like {old}")
    path.write_text("".join(changed), encoding="utf-8")


_UNUSUAL = re.compile(r"[+?(){}|]")
"""Plain characters to sed, special ones to Python."""

_COMMANDS: Mapping[str, Callable[[list[str]], None]] = {
    "metainfer-opt": _opt,
    "python": _python,
    "xdsl-opt": _xdsl_opt,
    "pip": _pip,
    "cat": _cat,
    "ls": _ls,
    "sed": _sed,
}


def _filtered(text: str, words: list[str]) -> str:
    lines = text.splitlines(keepends=True)
    match words:
        case ["head", count]:
            return "".join(lines[: int(count.lstrip("-"))])
        case ["grep", word]:
            return "".join(line for line in lines if word in line)
        case ["filecheck", name]:
            return _filecheck(text, name)
    raise ValueError(f"the pages have no filter {words}")


def _filecheck(text: str, name: str) -> str:
    """Nothing, unless the text is not what the file expects."""
    from filecheck.matcher import Matcher
    from filecheck.options import Options

    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as given:
        given.write(text)
        given.flush()
        if Matcher.from_opts(Options(match_filename=name, input_file=given.name)).run():
            raise ValueError(f"{name} expects another text than\n{text}")
    return ""


# === Where commands run ===


@contextlib.contextmanager
def workplace(examples: Path) -> Iterator[Path]:
    """A fresh copy of `examples` as the current folder, with terminals of a fixed width.

    Python finds modules in it and keeps no byte code: a file may change twice in a second. The
    cache is one of its own.
    """
    loaded, path, bytecode = set(sys.modules), list(sys.path), sys.dont_write_bytecode
    with tempfile.TemporaryDirectory(prefix="metainfer-docs-") as top, _environment(top):
        folder = Path(top) / "work"
        shutil.copytree(examples, folder)
        before = Path.cwd()
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        sys.dont_write_bytecode = True
        try:
            yield folder
        finally:
            os.chdir(before)
            sys.path[:], sys.dont_write_bytecode = path, bytecode
            for name in set(sys.modules) - loaded:
                if _is_below(sys.modules[name], folder):
                    del sys.modules[name]


def _is_below(module: object, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).resolve().is_relative_to(folder.resolve())


@contextlib.contextmanager
def _environment(top: str) -> Iterator[None]:
    names = {"COLUMNS": "100", "METAINFER_CACHE": f"{top}/cache"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
