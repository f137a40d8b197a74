"""The process that runs a candidate: its memory, its end, and what its words are worth."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from metainfer.verify.driver import Child
from metainfer.verify.faults import InfraError, KernelFault
from metainfer.verify.memory import GUARD, Buffer, Placement, SharedMemory
from metainfer.verify.sandbox.layers import IN_RUNNER, Sandbox
from metainfer.verify.sandbox.program import runner

HEAD = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
struct mi_batch { int32_t tokens, seqs; const int32_t *ids, *pos, *row, *q_start, *kv_len, *slot; };
"""
POISON = b"\xa5\x5a\xa5\x5a"
Start = Callable[..., Child]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """A child for a function `f` with the given parameters and body."""

    def started(parameters: str, body: str, *, timeout: float = 20.0, **sandbox: object) -> Child:
        source, library = tmp_path / "f.c", tmp_path / "f.so"
        both = f"{parameters}, int32_t part, int32_t parts"
        source.write_text(f"{HEAD}void f({both}) {{ {body} }}")
        command = ["gcc", "-O1", "-w", "-fPIC", "-shared", "-o", library, source]
        subprocess.run(command, check=True)
        return Child(library, "f", timeout, Sandbox(**sandbox))  # type: ignore[arg-type]

    return started


def out(values: int) -> Buffer:
    return Buffer("y", np.frombuffer(POISON * values, np.uint8), 4, True)


def call(child: Child, placement: Placement = "end") -> list[float]:
    """Run `f(float *y)` on one output of eight values."""
    written = child.run([out(8)], [("buffer", 0)], [(0, 1)], placement, POISON)
    return list(written["y"].view("<f4"))


def test_arguments_of_all_kinds_arrive(start: Start) -> None:
    """More than registers hold, so that those on the stack are tried."""
    names = [f"n{i}" for i in range(20)]
    parameters = ", ".join([f"int32_t {n}" for n in names])
    body = "float sum = 0;" + "".join(f"sum += {i + 1}.0f * {n};" for i, n in enumerate(names))
    body += "y[0] = sum; y[1] = x[2]; y[2] = b->tokens; y[3] = b->seqs; y[4] = b->slot[1];"
    body += "y[5] = b->ids[0]; y[6] = part; y[7] = parts;"
    vectors = [Buffer(f"v{i}", np.array([i, i + 50], "<i4").view(np.uint8)) for i in range(6)]
    x = Buffer("x", np.array([1, 2, 3], "<f4").view(np.uint8))
    arguments = [*(("int", i - 10) for i in range(20)), ("buffer", 1)]
    arguments += [("batch", 7, 2, [2, 3, 4, 5, 6, 7]), ("buffer", 0)]
    signature = f"{parameters}, const float *x, const struct mi_batch *b, float *y"
    with start(signature, body) as child:
        written = child.run([out(8), x, *vectors], arguments, [(3, 5)], "end", POISON)
    expected = float(sum((i + 1) * (i - 10) for i in range(20)))
    assert list(written["y"].view("<f4")) == [expected, 3, 7, 2, 55, 0, 3, 5]


def test_runs_share_the_process_and_calls_come_in_order(start: Start) -> None:
    body = "static int calls; y[calls++] = 10 * part + parts;"
    with start("float *y", body) as child:
        written = child.run([out(8)], [("buffer", 0)], [(1, 3), (0, 3)], "end", POISON)
        assert list(written["y"].view("<f4")[:2]) == [13, 3]
        assert call(child, "start")[2] == 1


def test_every_layer_of_the_runner_stands(start: Start) -> None:
    with start("float *y", "y[0] = 1;") as child:
        assert child.layers >= set(IN_RUNNER) - {"namespaces"}


@pytest.mark.parametrize("placement", ["end", "start"])
@pytest.mark.parametrize("bytes_", [-1, 8 * 4])
def test_what_is_beside_a_buffer_is_noticed(
    placement: Placement, bytes_: int, start: Start
) -> None:
    """One side is inaccessible, the other is looked at afterwards."""
    with (
        start("float *y", f"((char *)y)[{bytes_}] = 1;") as child,
        pytest.raises(KernelFault) as caught,
    ):
        call(child, placement)
    assert caught.value.stage == "guard"
    inaccessible = (placement == "start") == (bytes_ < 0)
    assert ("SIGSEGV" in str(caught.value)) == inaccessible


def test_a_buffer_of_an_earlier_run_is_closed(start: Start) -> None:
    body = "static float *kept; if (kept) kept[0] = 1; kept = y; y[0] = 2;"
    with start("float *y", body) as child:
        buffers = [Buffer("pad", np.zeros(40_000, np.uint8)), out(8)]
        child.run(buffers, [("buffer", 1)], [(0, 1)], "end", POISON)
        with pytest.raises(KernelFault, match="SIGSEGV"):
            child.run([out(8)], [("buffer", 0)], [(0, 1)], "end", POISON)


ENDS = [
    ("abort();", "crash", "SIGSYS"),
    ("exit(0);", "crash", "exit status 0"),
    ("_exit(3);", "crash", "exit status 3"),
    ("getppid();", "crash", "SIGSYS: calls the operating system"),
    ("fork();", "crash", "SIGSYS"),
    ("kill(getpid(), SIGKILL);", "crash", "SIGSYS"),
    ("syscall(SYS_write, 2, y, 4);", "crash", "SIGSYS"),
    ("syscall(SYS_read, 1, y, 4);", "crash", "SIGSYS"),
    ("syscall(SYS_mprotect, (size_t)y & -4096, 4096, 4);", "crash", "SIGSYS"),
    ("__asm__ volatile(\"ud2\");" if os.uname().machine == "x86_64" else "__builtin_trap();",
     "crash", "SIG"),
    ("*(volatile int *)16 = 1;", "guard", "SIGSEGV"),
    ("for (;;) ;", "timeout", "did not return within"),
    ("char c; read(0, &c, 1);", "timeout", "did not return within"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "stage", "detail"), ENDS)
def test_a_kernel_that_does_not_return_is_at_fault(
    body: str, stage: str, detail: str, start: Start
) -> None:
    timeout = 0.5 if stage == "timeout" else 20.0
    with start("float *y", body, timeout=timeout) as child, pytest.raises(KernelFault) as caught:
        call(child)
    assert caught.value.stage == stage
    assert detail in str(caught.value)


FORGED = [
    'write(1, "done\\n", 5);',
    'write(1, "done\\n", 5); _exit(0);',
    'write(1, "done\\nmapped\\ndone\\n", 17); _exit(0);',
    'write(1, "error the parent is wrong\\n", 26); _exit(0);',
    'write(1, "done", 4); write(1, "\\n", 1); y[0] = 1;',
]


@pytest.mark.parametrize("body", FORGED)
def test_forged_words_change_no_result(body: str, start: Start) -> None:
    """What is read is what the kernel wrote into its output, whatever it says."""
    results = []
    with start("float *y", body) as child:
        try:
            results.append(call(child))
            results.append(call(child))
        except (KernelFault, InfraError):
            return
    assert all(np.array(r, "<f4").tobytes() == POISON * 8 for r in results)


def test_the_clock_of_the_processor_ends_what_the_wall_clock_does_not(start: Start) -> None:
    off = frozenset({"wall_clock"})
    with (
        start("float *y", "for (;;) ;", off=off, cpu_seconds=1) as child,
        pytest.raises(KernelFault, match=r"SIGKILL|SIGXCPU"),
    ):
        call(child)


def test_what_cannot_be_loaded_is_our_error(tmp_path: Path) -> None:
    with pytest.raises(InfraError, match="library cannot be loaded"):
        Child(tmp_path / "none.so", "f", 1.0)


def test_too_many_arguments_are_our_error(start: Start) -> None:
    with start("float *y", "y[0] = 1;") as child, pytest.raises(InfraError, match="too long"):
        child.run([out(1)], [("buffer", 0)] * 63, [(0, 1)], "end", POISON)


def test_nothing_stays_when_a_child_is_closed(start: Start) -> None:
    with start("float *y", "y[0] = 1;") as child:
        group = child._process.pid
        call(child)
        os.killpg(group, 0)
    deadline = time.monotonic() + 10.0
    while _alive(group):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_runner_is_built_once() -> None:
    first = runner()
    assert os.access(first, os.X_OK)
    before = first.stat().st_mtime_ns
    assert runner() == first
    assert first.stat().st_mtime_ns == before


def test_buffers_lie_between_holes() -> None:
    memory = SharedMemory()
    try:
        kept = Buffer("kept", np.ones(5000, np.uint8), 64, fixed=True)
        first = memory.load([kept, out(8), out(2000)], "end", POISON)
        again = memory.load([kept, out(8)], "end", POISON)
        assert again[0] == first[0]
        end = 0
        for region in sorted(first, key=lambda r: r.offset):
            assert region.offset - end >= GUARD
            end = region.offset + region.length
        assert os.fstat(memory.fd).st_size >= end + GUARD
        assert memory.read(first[0]).tobytes() == b"\1" * 5000
        # Holes take no memory.
        assert os.fstat(memory.fd).st_blocks * 512 < GUARD
    finally:
        memory.close()
