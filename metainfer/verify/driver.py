"""The parent's side of a candidate's process: start it, have it run calls, kill it.

Nothing that the process says is believed: its words only tell when to look at shared memory.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metainfer.verify.faults import InfraError, KernelFault
from metainfer.verify.memory import Buffer, Bytes, Placement, Region, SharedMemory
from metainfer.verify.sandbox.layers import FULL, IN_RUNNER, Layer, Sandbox
from metainfer.verify.sandbox.program import runner

START_SECONDS = 30.0
"""Time for our own program to start, load the library and take an order."""
ARENA = 1 << 38
"""Addresses that the child sets aside for its buffers: far more than any kernel's memory."""


class Child:
    """One candidate in a process of its own, with nothing expected in its memory.

    `timeout` is the wall time of one run in seconds.
    """

    def __init__(self, library: Path, symbol: str, timeout: float, sandbox: Sandbox = FULL) -> None:
        self.timeout, self.sandbox = timeout, sandbox
        self.memory = SharedMemory()
        self._unread = b""
        self._has_run = False
        try:
            self._process = self._start(library, symbol)
            answer = self._await("ready", time.monotonic() + START_SECONDS)
            bits = int(answer.removeprefix("ready "))
        except BaseException:
            self.close()
            raise
        self.layers: frozenset[Layer] = frozenset(n for n, bit in IN_RUNNER.items() if bits & bit)
        """Layers that the runner found it could put up."""

    def _start(self, library: Path, symbol: str) -> subprocess.Popen[bytes]:
        numbers = (self.memory.fd, ARENA, self.sandbox.bits(), self.sandbox.cpu_seconds)
        command = ["runner", str(library.resolve()), symbol, *map(str, numbers)]
        try:
            # Its own session: an interrupt at the terminal must not look like a crashing kernel.
            return subprocess.Popen(
                command,
                executable=runner(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={},
                pass_fds=[self.memory.fd],
                start_new_session=True,
            )
        except OSError as problem:
            raise InfraError(f"cannot start the verifier's child: {problem.strerror}") from problem

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process and give the memory back."""
        process = getattr(self, "_process", None)
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    # An order that a dead process did not take is still in our buffer.
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
        self.memory.close()

    def run(
        self,
        buffers: list[Buffer],
        arguments: Sequence[Any],
        calls: Sequence[tuple[int, int]],
        placement: Placement,
        fill: bytes,
    ) -> dict[str, Bytes]:
        """Call the kernel for each (part, parts) of `calls`; what the writable buffers hold then.

        Raises `KernelFault` for a signal, a time-out or a write beside a buffer, `InfraError` when
        the child itself fails.
        """
        regions = self.memory.load(buffers, placement, fill)
        placed = list(zip(buffers, regions, strict=True))
        self._send(_order(placed, arguments, calls))
        self._await("mapped", time.monotonic() + START_SECONDS)
        self._has_run = True
        self._await("done", time.monotonic() + self.timeout)
        written = [(b, r) for b, r in placed if b.writable]
        if self.sandbox.has("margins"):
            for buffer, region in written:
                self._check_rest(buffer, region, fill)
        return {b.name: self.memory.read(r) for b, r in written}

    def _check_rest(self, buffer: Buffer, region: Region, fill: bytes) -> None:
        pages = self.memory.pages(region)
        end = region.delta + region.nbytes
        expected = fill * (region.length // len(fill))
        for start, stop, side in ((0, region.delta, "before"), (end, region.length, "behind")):
            if pages[start:stop].tobytes() != expected[start:stop]:
                raise KernelFault("guard", f"writes {side} the buffer of '{buffer.name}'")

    def _send(self, order: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(order)
            pipe.flush()
        except OSError:
            raise self._death() from None

    def _await(self, word: str, deadline: float) -> str:
        """The answer, which begins with `word`."""
        answer = self._read_line(deadline)
        if answer is not None and answer.split(" ")[0] == word:
            return answer
        if answer is None and word == "done":
            raise KernelFault("timeout", f"did not return within {self.timeout:g} s")
        if answer is None:
            raise InfraError("the verifier's child does not answer")
        if answer.startswith("error "):
            raise InfraError(answer.removeprefix("error "))
        if answer:
            # Our side of the child speaks in turn, so the kernel wrote this.
            raise KernelFault("crash", "writes to the pipe of the verifier's child")
        raise self._death()

    def _read_line(self, deadline: float) -> str | None:
        """One line; empty at the end of the stream, None when there is none in time."""
        pipe = self._process.stdout
        assert pipe is not None
        while b"\n" not in self._unread:
            left = max(0.0, deadline - time.monotonic()) if self.sandbox.has("wall_clock") else None
            ready, _, _ = select.select([pipe], [], [], left)
            if not ready:
                return None
            piece = os.read(pipe.fileno(), 4096)
            if not piece:
                return ""
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _death(self) -> KernelFault | InfraError:
        """What the end of the process means: our side of it goes on until its orders end."""
        try:
            code = self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            return InfraError("the verifier's child closed its output, but lives")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        if not self._has_run:
            return InfraError(f"the verifier's child ended with {how}")
        if -code in (signal.SIGSEGV, signal.SIGBUS):
            return KernelFault(
                "guard", f"{how}: reads or writes outside its buffers, or writes an input"
            )
        if -code == signal.SIGSYS:
            return KernelFault("crash", f"{how}: calls the operating system")
        return KernelFault("crash", f"ended its process with {how}")


_KINDS = {"int": 0, "buffer": 1, "batch": 2}


def _order(
    placed: Sequence[tuple[Buffer, Region]],
    arguments: Sequence[Any],
    calls: Sequence[tuple[int, int]],
) -> bytes:
    """One run, as `struct order` of the runner and what follows it."""
    buffers = [(r.offset, r.length, r.delta, int(b.writable)) for b, r in placed]
    batch = [0] * 8
    given = []
    for kind, *values in arguments:
        if kind == "batch":
            tokens, seqs, vectors = values
            batch = [tokens, seqs, *vectors]
        given.append((_KINDS[kind], 0 if kind == "batch" else values[0]))
    tail = [word for row in (*buffers, *given, *calls) for word in row]
    head = [len(buffers), len(given), len(calls), *batch]
    return struct.pack(f"={1 + len(head) + len(tail)}q", 1 + len(head) + len(tail), *head, *tail)
