"""Forks a process per command from one that has imported the compiler already.

A command takes a second, most of which goes into imports; forked, it takes a tenth. What is tested
is the same: entry point, arguments, environment, streams and exit code. Run as a script, this is
the process that forks.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

IMPORTED = (
    "metainfer.cli.commands",
    "metainfer.cli.opt",
    "metainfer.cli.pipeline",
    "metainfer.driver.build",
    "metainfer.driver.explain",
    "metainfer.driver.model",
    "metainfer.spec.frontend",
    "metainfer.verify.gate",
)


class Zygote:
    """The parent's side; one command at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self,
        module: str,
        arguments: list[str],
        folder: Path,
        environment: Mapping[str, str],
        seconds: int,
    ) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of `python -m module arguments`.

        Killed by a signal, a command has the code that `subprocess` gives it.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        with tempfile.TemporaryDirectory(prefix="zygote-") as name:
            out, err = Path(name) / "out", Path(name) / "err"
            order = {
                "module": module,
                "arguments": arguments,
                "folder": str(folder),
                "environment": dict(environment),
                "streams": [os.devnull, str(out), str(err)],
                "seconds": seconds,
            }
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")


@cache
def zygote() -> Zygote:
    """The one of these tests; it ends with them, when its standard input does."""
    return Zygote()


def _serve() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    from metainfer.passes.pipelines import PASSES

    for load in PASSES.values():
        load()
    while line := sys.stdin.readline():
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(order)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(order: dict[str, Any]) -> None:
    """Be the command, and end."""
    signal.alarm(order["seconds"])
    for number, path in enumerate(order["streams"]):
        mode = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT
        os.dup2(os.open(path, mode), number)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = [order["module"], *order["arguments"]]
    code: object = 1
    try:
        code = importlib.import_module(order["module"]).main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    _serve()
