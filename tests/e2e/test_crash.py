"""Whatever ends a command, nothing finished is damaged, and the next run works.

A sample; `python tests/support/crash.py` kills at every call and at 200 random times, interrupts at
50, and tries more sizes of disks.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from crash import SUPPORT, Bench, Outcome, shim
from store_writer import KEYS, VERIFIED
from tiny_build import warm

from metainfer.verify.evidence import EvidenceStore


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """On a copy of the build that other tests share."""
    top, shell = tmp_path_factory.mktemp("crash"), warm()
    (top / "full" / "temporary").mkdir(parents=True)
    subprocess.run(["cp", "-a", str(shell.folder), str(top / "full" / "work")], check=True)
    subprocess.run(["cp", "-a", str(shell.cache), str(top / "full" / "cache")], check=True)
    return Bench(top)


def _fine(outcome: Outcome, *codes: int) -> None:
    assert outcome.problems == []
    assert outcome.ended == {str(code): codes.count(code) for code in codes}


def test_killed_while_weights_are_put_in_their_place(bench: Bench) -> None:
    outcome = bench.kill_on(bench.partial(), "before", "/weights/")
    _fine(outcome, -signal.SIGKILL)


def test_killed_where_an_engine_is_replaced(bench: Bench) -> None:
    """There is an engine at every moment: the old one or the new one."""
    _fine(bench.kill_on(bench.full, "after", "renameat2 "), -signal.SIGKILL)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_signal_at_a_random_time(bench: Bench, number: signal.Signals, code: int) -> None:
    outcome = bench.signal_at_random(number, 1, seconds=0.8)
    assert (outcome.problems, outcome.ended[str(code)]) == ([], 1)


def test_two_at_once(bench: Bench) -> None:
    _fine(bench.two_at_once(1), 0, 0)


def _needs_mounts() -> None:
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    probe = ("unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt")
    if subprocess.run(probe, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this machine lets nobody mount a file system in a namespace of its own")


def test_a_full_disk(bench: Bench) -> None:
    _needs_mounts()
    _fine(bench.full_disk([16]), 1)


def test_a_read_only_cache_costs_time(bench: Bench) -> None:
    _needs_mounts()
    _fine(bench.read_only(()), 0)


# === The evidence store, at every call ===


def _write(folder: Path, **crash: str) -> int:
    command = [sys.executable, str(SUPPORT / "store_writer.py"), str(folder)]
    environment = {**os.environ, "LD_PRELOAD": str(shim()), **crash}
    return subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_store_survives_a_kill_at_any_call(tmp_path: Path, when: str) -> None:
    log = tmp_path / "log"
    assert _write(tmp_path / "whole", CRASH_WHEN="never", CRASH_LOG=str(log)) == 0
    calls = log.read_text().splitlines()
    assert any(line.startswith("link ") for line in calls) and len(calls) > 20
    for at in sorted(random.Random(when).sample(range(1, len(calls) + 1), 8)):
        folder = tmp_path / f"{at}"
        assert _write(folder, CRASH_AT=str(at), CRASH_WHEN=when) == -signal.SIGKILL
        told = list[str]()
        store = EvidenceStore(folder, warn=told.append)
        found = [store.lookup(key) for key in KEYS]
        assert all(f.verdict in (VERIFIED, None) and f.ignored is None for f in found), calls[
            at - 1
        ]
        store.record("c", VERIFIED)
        assert store.lookup("c").verdict == VERIFIED
        assert told == []
