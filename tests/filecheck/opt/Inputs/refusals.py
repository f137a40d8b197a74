"""Runs the commands of a test in one process, since starting the tool takes longer than most do.

    // $ metainfer-opt %s --run @g
    // CHECK: error: no function @g

`python refusals.py TEST FOLDER` runs every `// $` line of the test inside the folder, with `%s` for
the test and `%S` for where it lies, and prints what comes. Each command must be refused.
"""

import contextlib
import io
import os
import re
import shlex
import sys
from pathlib import Path

from metainfer.cli.opt import main

REFUSED = (1, 2)
PROMPT = "// $ metainfer-opt "


def run(arguments: list[str]) -> tuple[int, str]:
    """The exit code of one command and all that it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue()


def _filled(word: str, test: Path) -> str:
    names = {"%%": "%", "%s": str(test), "%S": str(test.parent)}
    return re.sub("%[%sS]", lambda match: names[match[0]], word)


def session(test: Path, folder: Path) -> bool:
    """Whether every command of the test was refused."""
    lines = test.read_text(encoding="utf-8").splitlines()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    refused = True
    for command in (line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)):
        print(f"$ metainfer-opt {command}")
        words = [_filled(word, test) for word in shlex.split(command)]
        code, said = run(words)
        print(said, end="" if said.endswith("\n") else "\n")
        if code not in REFUSED:
            print(f"ended with {code}")
            refused = False
    return refused


if __name__ == "__main__":
    sys.exit(0 if session(Path(sys.argv[1]).resolve(), Path(sys.argv[2])) else 1)
