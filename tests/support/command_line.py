"""The command lines as processes of their own, in a folder that shows what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from zygote import zygote

MODULES = {"metainfer": "metainfer.cli.main", "metainfer-opt": "metainfer.cli.opt"}
SECONDS = 120
"""After which a command that hangs fails its test."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    """Runs commands in `folder`; their temporary files go to `temporary`, which ought to be empty
    when they end."""

    folder: Path
    cache: Path
    temporary: Path

    def environment(self, changes: Mapping[str, str] | None = None) -> dict[str, str]:
        """Ours with the cache and the temporary folder set; no C compiler is named."""
        own = {"METAINFER_CACHE": str(self.cache), "TMPDIR": str(self.temporary)}
        kept = {name: value for name, value in os.environ.items() if name != "CC"}
        return kept | own | {"PYTHONDONTWRITEBYTECODE": "1"} | dict(changes or {})

    def run(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        prefix: tuple[str, ...] = (),
        prepare: Callable[[], None] | None = None,
        fresh: bool = False,
    ) -> Done:
        """Run `metainfer ...` or `metainfer-opt ...` to its end.

        `prefix` is a command to run it, and `prepare` is called in the new process before it; with
        either, or if `fresh`, a Python starts for it; else one that runs is forked.
        """
        environment = self.environment(env)
        if not (fresh or prefix or prepare):
            module, *arguments = argv(*command)[2:]
            return Done(*zygote().run(module, arguments, self.folder, environment, SECONDS))
        done = subprocess.run(
            [*prefix, *argv(*command)],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            preexec_fn=prepare,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def refused(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        prefix: tuple[str, ...] = (),
        prepare: Callable[[], None] | None = None,
    ) -> str:
        """What standard error holds after a command that must be refused and leave nothing."""
        before = snapshot(self.folder)
        done = self.run(*command, env=env, prefix=prefix, prepare=prepare)
        assert (done.code, done.out) == (1, ""), done
        assert snapshot(self.folder) == before
        assert self.debris() == []
        return done.err

    def write(self, name: str, text: str) -> str:
        """Write a file of the folder; its name."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def start(
        self, *argv: str, env: Mapping[str, str] | None = None, stdout: int | None = None
    ) -> Started:
        """Start a program in a process group of its own; `stdout` is a file descriptor."""
        process = subprocess.Popen(
            argv,
            cwd=self.folder,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return Started(process)

    def debris(self) -> list[str]:
        """Unfinished files: whatever is temporary, or hidden in the cache or the folder."""
        hidden = [p for top in (self.cache, self.folder) for p in top.rglob(".*")]
        return [str(p) for p in [*hidden, *self.temporary.rglob("*")]]


@dataclass(frozen=True)
class Started:
    """A command that is running."""

    process: subprocess.Popen[str]

    def wait_for(self, text: str) -> None:
        """Read standard error up to the first line with `text`."""
        assert self.process.stderr is not None
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            if text in line:
                return
        raise AssertionError(f"ended without {text!r}: {''.join(seen)}")

    def end(self, number: signal.Signals, *, group: bool) -> Done:
        """Send a signal, to the whole group as a terminal does or to the one process, and wait."""
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        try:
            out, err = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        return Done(self.process.returncode, out or "", err)


def argv(command: str, *arguments: str) -> list[str]:
    """The argument vector of `metainfer` or `metainfer-opt` in this Python."""
    return [sys.executable, "-m", MODULES[command], *arguments]


def snapshot(folder: Path) -> dict[str, tuple[int, int] | None]:
    """Size and time of every file below a folder, None for folders."""
    return {
        str(path.relative_to(folder)): None
        if path.is_dir()
        else (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
    }
