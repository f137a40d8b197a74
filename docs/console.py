"""Does what a page says: writes its files, runs its commands, puts their output under them.

A `console` block holds lines that begin with `$ `; what else it holds is output and is replaced. A
block in another language may name a file after the language, and is written to it. Everything
happens in the order of the page, in a fresh copy of a folder of examples.
"""

from __future__ import annotations

import re
from pathlib import Path

from shell import run, workplace

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def with_output(page: str, examples: Path) -> str:
    """The page with the present output of its commands."""
    with workplace(examples):
        return _BLOCK.sub(_block, page)


def files_of(page: str) -> dict[str, str]:
    """The files that a page writes, by name."""
    return {name: text for _, name, text in _BLOCK.findall(page) if name}


def _block(match: re.Match[str]) -> str:
    language, name, text = match.groups()
    if name:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if language != "console":
        return match[0]
    commands = [line for line in text.splitlines() if line.startswith("$ ")]
    shown = "".join(f"{command}\n{run(command[2:])}" for command in commands)
    return f"```console\n{shown}```"
