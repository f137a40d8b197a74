"""Commands that are killed, interrupted or starved, and what they leave.

As a script, the full counts, of which CI runs a sample: `python tests/support/crash.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
sys.path[:0] = [str(SUPPORT), str(SUPPORT.parents[1])]

from tiny_llama import TinyLlama, write_spec  # noqa: E402

from metainfer.sealed import is_whole  # noqa: E402

SPEC, OUT = "tiny.mispec", "out"
MODEL = TinyLlama(layers=1, hidden=32, ffn=32, q_heads=2, kv_heads=1, context=16)
SEALED = ("objects", "libraries", "programs", "weights", "tokenizers")


@cache
def shim() -> Path:
    """The library that counts calls, compiled once."""
    folder = tempfile.mkdtemp(prefix="crash-shim-")
    library = Path(folder) / "crash_points.so"
    source = SUPPORT / "crash_points.c"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


@dataclass(frozen=True)
class Place:
    """A folder with a spec and its model, and a cache; both may be copied."""

    top: Path

    @property
    def work(self) -> Path:
        """Where the commands run."""
        return self.top / "work"

    @property
    def cache(self) -> Path:
        """Their cache."""
        return self.top / "cache"

    @classmethod
    def fresh(cls, top: Path) -> Place:
        """A place with an empty cache."""
        place = cls(top)
        for folder in (place.work, place.cache, top / "temporary"):
            folder.mkdir(parents=True)
        write_spec(place.work, MODEL)
        return place

    def copy(self, top: Path) -> Place:
        """The same files elsewhere; hard links stay links."""
        subprocess.run(["cp", "-a", str(self.top), str(top)], check=True)
        return Place(top)

    def state(self) -> str:
        """A digest of all finished files."""
        digest = hashlib.sha256()
        for path in sorted(self.top.rglob("*")):
            name = path.relative_to(self.top)
            if path.is_file() and not any(part.startswith(".") for part in name.parts):
                digest.update(f"{name} ".encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def environment(self) -> dict[str, str]:
        """Of the commands."""
        own = {
            "METAINFER_CACHE": str(self.cache),
            "TMPDIR": str(self.top / "temporary"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return {k: v for k, v in os.environ.items() if not k.startswith("CRASH_")} | own

    def damage(self) -> list[str]:
        """Finished files that are not whole."""
        found = [
            str(path)
            for kind in SEALED
            for path in (self.cache / kind).glob("[!.]*")
            if not path.name.endswith(".sha256") and is_whole(path) is not True
        ]
        found += [str(p) for p in self.cache.glob("digests/[!.]*") if not _is_json(p)]
        return found + _damaged_rows(self.cache) + _damaged_engine(self.work / OUT)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _damaged_rows(cache: Path) -> list[str]:
    """What is wrong with the evidence; looked at in a copy, since opening it may mend it."""
    store = cache / "evidence" / "evidence.sqlite"
    if not store.exists():
        return []
    with tempfile.TemporaryDirectory() as folder:
        for path in store.parent.glob("evidence.sqlite*"):
            shutil.copy(path, folder)
        with closing(sqlite3.connect(Path(folder) / store.name)) as database:
            (said,) = database.execute("PRAGMA integrity_check").fetchone()
            rows = database.execute("SELECT content, sha256 FROM evidence").fetchall()
    bad = [t for t, digest in rows if hashlib.sha256(t.encode()).hexdigest() != digest]
    return ([f"{store}: {said}"] if said != "ok" else []) + [f"{store}: {t}" for t in bad]


def _damaged_engine(folder: Path) -> list[str]:
    """Files of an engine that are not what its manifest says; an absent engine has none."""
    if not folder.exists():
        return []
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        return [f"{folder} has no manifest"]
    files = json.loads(manifest.read_text())["files"]
    return [
        str(folder / name)
        for name, digest in files.items()
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest
    ]


def engine(folder: Path) -> dict[str, bytes]:
    """Every file of an engine by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


COMPILE = ("compile", SPEC, "-o", OUT)


class Commands:
    """Forks `metainfer` commands from a process that has the library preloaded."""

    def __init__(self) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(shim())}
        self._process = subprocess.Popen(
            [sys.executable, str(SUPPORT / "zygote.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Who runs in the background has had it ignored, and hands that on.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self._folder = tempfile.TemporaryDirectory(prefix="crash-")

    def start(self, place: Place, **crash: str) -> None:
        """Begin a command; `CRASH_...` variables say where it ends."""
        streams = Path(self._folder.name)
        order = {
            "module": "metainfer.cli.main",
            "arguments": list(COMPILE),
            "folder": str(place.work),
            "environment": place.environment() | crash,
            "streams": [os.devnull, str(streams / "out"), str(streams / "err")],
            "seconds": 600,
        }
        assert self._process.stdin is not None
        for name in ("out", "err"):
            (streams / name).unlink(missing_ok=True)
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def wait(self) -> tuple[int, str]:
        """Its exit code (negative for a signal) and standard error."""
        assert self._process.stdout is not None
        code = int(self._process.stdout.readline())
        return code, (Path(self._folder.name) / "err").read_text()

    def run(self, place: Place, **crash: str) -> tuple[int, str]:
        """A command to its end."""
        self.start(place, **crash)
        return self.wait()

    def child(self) -> int | None:
        """The process of the command that runs."""
        tasks = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        found = tasks.read_text().split()
        return int(found[0]) if found else None

    def signal(self, number: int, after: float) -> None:
        """Send a signal to the running command when it has run so many seconds."""
        end = time.monotonic() + after
        while time.monotonic() < end:
            time.sleep(min(0.02, max(0.0, end - time.monotonic())))
        if (process := self.child()) is not None:
            os.kill(process, number)

    def points(self, place: Place) -> list[str]:
        """The calls of a command that is let through."""
        log = place.top / "points"
        code, err = self.run(place, CRASH_WHEN="never", CRASH_LOG=str(log))
        assert code == 0, err
        return log.read_text().splitlines()


@dataclass
class Outcome:
    """How many times something was tried, and what went wrong."""

    what: str
    tried: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    """Exit code → how often."""
    problems: list[str] = field(default_factory=list)

    def count(self, code: int) -> None:
        """One more, with this exit code."""
        self.tried += 1
        self.ended[str(code)] = self.ended.get(str(code), 0) + 1

    def __str__(self) -> str:
        codes = ", ".join(f"{n} with {code}" for code, n in sorted(self.ended.items()))
        head = f"{self.what}: {self.tried} tried ({codes}), {len(self.problems)} problems"
        return "\n  ".join([head, *self.problems])


@dataclass
class Bench:
    """A finished place, the engine in it, and the commands to disturb."""

    top: Path
    commands: Commands = field(default_factory=Commands)
    number: int = 0

    def __post_init__(self) -> None:
        self.full = Place(self.top / "full")
        if not self.full.top.exists():
            Place.fresh(self.full.top)
            code, err = self.commands.run(self.full)
            assert (code, err) == (0, ""), err
        assert self.full.damage() == []
        self.engine = engine(self.full.work / OUT)

    @contextmanager
    def copy(self, place: Place) -> Iterator[Place]:
        """A copy that lasts as long as the block."""
        self.number += 1
        top = self.top / f"copy{self.number}"
        made = place.copy(top)
        try:
            yield made
        finally:
            shutil.rmtree(top)

    def check(self, place: Place, outcome: Outcome, when: str) -> None:
        """Nothing finished is damaged; the next run succeeds silently, with the same engine."""
        outcome.problems += [f"{when}: damaged: {what}" for what in place.damage()]
        code, err = self.commands.run(place)
        if (code, err) != (0, ""):
            outcome.problems.append(f"{when}: the next run ended with {code}: {err}")
        elif engine(place.work / OUT) != self.engine or place.damage():
            outcome.problems.append(f"{when}: the next run made another engine")

    # === kill -9 ===

    def scenarios(self) -> Iterator[tuple[str, Place]]:
        """Name and state before the command.

        Objects and rows of evidence are each written in one way, so few of them stand for all.
        """
        yield "much is missing", self.partial()
        yield "an engine is replaced", self.full

    def partial(self) -> Place:
        """Without an engine, and with one file or a few of all that a cache holds missing."""
        place = Place(self.top / "partial")
        if place.top.exists():
            return place
        self.full.copy(place.top)
        for kind in ("libraries", "weights", "digests", "tokenizers"):
            shutil.rmtree(place.cache / kind, ignore_errors=True)
        shutil.rmtree(place.work / OUT)
        objects = sorted((place.cache / "objects").glob("*.o"), key=lambda p: p.stat().st_size)
        objects[0].unlink()
        _forget_two(place.cache)
        return place

    def kill_at_points(self) -> Iterator[Outcome]:
        """Kill before and after each call that makes a write last."""
        for name, start in self.scenarios():
            points = self.points(start)
            for when in ("before", "after"):
                outcome = Outcome(f"kill -9 {when} each of {len(points)} calls, where {name}")
                for at, call in enumerate(points, 1):
                    with self.copy(start) as place:
                        code, _ = self.commands.run(place, CRASH_AT=str(at), CRASH_WHEN=when)
                        self._killed(start, place, code, f"{when} {call}", outcome)
                yield outcome

    def points(self, start: Place) -> list[str]:
        """The calls of the command that begins in a state."""
        with self.copy(start) as place:
            return self.commands.points(place)

    def kill_on(self, start: Place, when: str, call: str) -> Outcome:
        """Kill at the first call whose line has a text."""
        outcome = Outcome(f"kill -9 {when} {call}")
        with self.copy(start) as place:
            code, _ = self.commands.run(place, CRASH_ON=call, CRASH_WHEN=when)
            self._killed(start, place, code, f"{when} {call}", outcome)
        return outcome

    def _killed(self, start: Place, place: Place, code: int, what: str, outcome: Outcome) -> None:
        outcome.count(code)
        if start is self.full and not (place.work / OUT / "manifest.json").exists():
            outcome.problems.append(f"{what}: there is no engine")
        self.check(place, outcome, what)

    def signal_at_random(
        self, number: int, times: int, seconds: float | None = None, seed: int = 0
    ) -> Outcome:
        """Signals within `seconds`, by default those that the command takes, until so many hit.

        A command begins where the one before it was ended, until one comes to its end.
        """
        outcome = Outcome(f"{signal.Signals(number).name} at a random time")
        draw, wanted = random.Random(seed), 130 if number == signal.SIGINT else -number
        start = self.partial()
        if seconds is None:
            with self.copy(start) as place:
                begin = time.monotonic()
                self.check(place, outcome, "undisturbed")
                seconds = time.monotonic() - begin
        while outcome.ended.get(str(wanted), 0) < times and not outcome.problems:
            with self.copy(start) as place:
                code = -1
                while code != 0 and outcome.ended.get(str(wanted), 0) < times:
                    self.commands.start(place)
                    after = draw.uniform(0.05, seconds)  # the command has begun
                    self.commands.signal(number, after)
                    code, err = self.commands.wait()
                    outcome.count(code)
                    outcome.problems += [f"{after:.2f} s: damaged: {w}" for w in place.damage()]
                    if code not in (wanted, 0):
                        outcome.problems.append(f"{after:.2f} s: ended with {code}: {err}")
                    if number == signal.SIGINT and (debris := list(place.top.rglob(".*"))):
                        outcome.problems.append(f"{after:.2f} s: left {debris}")
                self.check(place, outcome, "at last")
        return outcome

    # === Others at work, no room ===

    def two_at_once(self, times: int) -> Outcome:
        """Two commands on one cache, in which much is missing, and one output."""
        outcome, other = Outcome("two compiles at once"), Commands()
        for _ in range(times):
            with self.copy(self.partial()) as place:
                self.commands.start(place)
                other.start(place)
                for code, err in (self.commands.wait(), other.wait()):
                    outcome.count(code)
                    if (code, err) != (0, ""):
                        outcome.problems.append(f"ended with {code}: {err}")
                outcome.problems += place.damage()
                if engine(place.work / OUT) != self.engine:
                    outcome.problems.append("they made another engine")
        return outcome

    def full_disk(self, rooms: list[int]) -> Outcome:
        """The cache, in which much is missing, on a disk with room for so many KiB more.

        The disk grows before the next run.
        """
        outcome = Outcome("a full disk under the cache")
        for room in rooms:
            with self.copy(self.partial()) as place:
                files = [p for p in place.cache.rglob("*") if p.is_file()]
                size = room + sum(-(-p.stat().st_size // 4096) * 4 for p in files)
                there = place.top / "there"
                script = (
                    f'mkdir "{there}"; mount -t tmpfs -o size={size}k none "{there}"; '
                    f'cp -a "{place.cache}/." "{there}"; mount --move "{there}" "{place.cache}"; '
                    f'set +e; "$@"; echo $?; mount -o remount,size=1g "{place.cache}"; '
                    f'"$@"; echo $?; cp -a "{place.cache}" "{place.top}/kept"'
                )
                codes, err = _in_mounts(place, script)
                outcome.count(codes[0])
                shutil.rmtree(place.cache)
                (place.top / "kept").rename(place.cache)
                if codes[0] not in (0, 1) or codes[1:] != [0] or "internal" in err:
                    outcome.problems.append(f"{room} KiB: ended with {codes}: {err}")
                outcome.problems += place.damage()
                if engine(place.work / OUT) != self.engine:
                    outcome.problems.append(f"{room} KiB: the next run made another engine")
        return outcome

    def read_only(self, kinds: tuple[str, ...]) -> Outcome:
        """A read-only cache without two verdicts and some kinds of files."""
        outcome = Outcome(f"a read-only cache without {', '.join(kinds) or 'two verdicts'}")
        with self.copy(self.full) as place:
            shutil.rmtree(place.work / OUT)
            for kind in kinds:
                shutil.rmtree(place.cache / kind, ignore_errors=True)
            _forget_two(place.cache)
            mount = f'mount --bind "{place.cache}" "{place.cache}"; mount -o remount,bind,ro '
            codes, err = _in_mounts(place, f'{mount} "{place.cache}"; set +e; "$@"; echo $?')
            outcome.count(codes[0])
            able = "objects" not in kinds
            if codes != [0 if able else 1] or "internal" in err or (able and "error" in err):
                outcome.problems.append(f"ended with {codes}: {err}")
            if able != ("verdicts are not kept" in err):
                outcome.problems.append(f"said {err}")
            outcome.problems += place.damage()
            if able and engine(place.work / OUT) != self.engine:
                outcome.problems.append("it made another engine")
        return outcome


def _forget_two(cache: Path) -> None:
    """Remove the evidence of two kernels."""
    store = cache / "evidence" / "evidence.sqlite"
    if store.exists():
        with closing(sqlite3.connect(store)) as rows, rows:
            two = "SELECT kernel FROM evidence ORDER BY kernel LIMIT 2"
            rows.execute(f"DELETE FROM evidence WHERE kernel IN ({two})")


def _in_mounts(place: Place, script: str) -> tuple[list[int], str]:
    """Exit codes that a script with mounts of its own prints; `$@` is the command."""
    command = [sys.executable, "-m", "metainfer.cli.main", *COMPILE]
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-ec", script, "sh", *command],
        cwd=place.work,
        env=place.environment(),
        capture_output=True,
        text=True,
    )
    return [int(line) for line in done.stdout.splitlines() if line.isdigit()], done.stderr


PARTS: Mapping[str, Callable[[Bench], Iterator[Outcome]]] = {
    "points": lambda bench: bench.kill_at_points(),
    "kills": lambda bench: iter([bench.signal_at_random(signal.SIGKILL, 200)]),
    "interrupts": lambda bench: iter([bench.signal_at_random(signal.SIGINT, 50)]),
    "two": lambda bench: iter([bench.two_at_once(5)]),
    "disk": lambda bench: iter([bench.full_disk([0, 4, 8, 16, 32, 64, 100, 150, 250, 400])]),
    "read-only": lambda bench: map(bench.read_only, ((), ("digests", "tokenizers"), SEALED)),
}


def main() -> int:
    """Run all parts, or those that are named; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("parts", nargs="*", choices=list(PARTS))
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="crash-bench-") as folder:
        bench = Bench(Path(folder))
        for name in parser.parse_args().parts or PARTS:
            for outcome in PARTS[name](bench):
                print(outcome, flush=True)
                wrong += len(outcome.problems)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
