"""Running what was built: a generated engine is its own program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from metainfer.driver.target import MANIFEST
from metainfer.ir.diagnostics import error


def package_of(folder: Path) -> str:
    """Name of the engine's package inside a build folder."""
    found = [p.parent.name for p in folder.glob("*/engine.so")]
    if len(found) != 1 or not (folder / MANIFEST).is_file():
        raise error(f"{folder} is no engine folder", help="make one: metainfer compile SPEC -o DIR")
    return found[0]


def _execute(folder: Path, arguments: list[str]) -> int:
    """Replace this process, so that signals and streams are the engine's own."""
    command = [sys.executable, *arguments]
    environment = os.environ | {"PYTHONPATH": str(folder.resolve())}
    sys.stdout.flush()
    os.execve(sys.executable, command, environment)


def run_engine(folder: Path, options: Mapping[str, object]) -> int:
    """`python -m <engine> run ...` in place of this process; `options` by name, None for absent.

    DiagnosticError for an option that the engine was built without.
    """
    package = package_of(folder)
    manifest = json.loads((folder / MANIFEST).read_bytes())
    arguments = engine_arguments(_understood(options, manifest["features"]))
    return _execute(folder, ["-m", package, "run", *arguments])


def worker(folder: Path, threads: int | None) -> int:
    """The benchmark protocol on standard input and output, in place of this process."""
    from metainfer.codegen.host.worker import command

    package_of(folder)
    arguments = command(folder.resolve(), threads or 0)
    sys.stdout.flush()
    os.execv(arguments[0], arguments)


def _understood(options: Mapping[str, object], features: Sequence[str]) -> dict[str, object]:
    """The options that the engine knows; those it need not know, since it does so anyway, go."""
    kept: dict[str, object] = {}
    for name, value in options.items():
        if name in ("raw", "system") and "chat" not in features:
            if name == "system" and value is not None:
                raise error("--system has no place: the model has no chat template")
        elif name in _SAMPLING and name not in features:
            if value is not None and not (name == "temperature" and value == 0):
                flag = name.replace("_", "-")
                raise error(
                    f"the engine was built without --{flag}",
                    help=f"add it to the spec: sampling {{ {name} }}",
                )
        else:
            kept[name] = value
    return kept


_SAMPLING = ("temperature", "top_k", "top_p", "seed")


def engine_arguments(options: Mapping[str, object]) -> list[str]:
    """The engine's own command line for `options`: None and False are left out, lists repeat.

    Values are joined with `=`, so that a prompt may begin with a dash.
    """
    arguments: list[str] = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(flag)
        elif isinstance(value, list):
            arguments += [f"{flag}={item}" for item in value]
        elif value is not None and value is not False:
            arguments.append(f"{flag}={value}")
    return arguments


def check_engine(folder: Path, stdout: int | None = None) -> int:
    """Run the folder's own `check.py`, its lines to the file descriptor `stdout`; its exit code."""
    package_of(folder)
    command = [sys.executable, str(folder / "check.py")]
    code = subprocess.run(command, stdout=stdout).returncode
    return code if code >= 0 else 128 - code
