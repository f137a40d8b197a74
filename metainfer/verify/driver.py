"""The parent's side of a candidate's process: start it, have it run calls, kill it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metainfer.verify.faults import InfraError, KernelFault
from metainfer.verify.memory import Buffer, Bytes, Placement, Region, SharedMemory

START_SECONDS = 30.0
"""Time for our own interpreter to start and load the library."""


class Child:
    """One candidate in a process of its own, with nothing expected in its memory.

    `timeout` is the wall time of one run in seconds.
    """

    def __init__(self, library: Path, symbol: str, timeout: float) -> None:
        self.timeout = timeout
        self.memory = SharedMemory()
        self._unread = b""
        try:
            self._process = self._start(library, symbol)
            self._await("ready", time.monotonic() + START_SECONDS)
        except BaseException:
            self.close()
            raise

    def _start(self, library: Path, symbol: str) -> subprocess.Popen[bytes]:
        script = Path(__file__).with_name("child.py")
        fd = str(self.memory.fd)
        command = [sys.executable, "-I", "-S", str(script), str(library.resolve()), symbol, fd]
        try:
            # Its own session: an interrupt at the terminal must not look like a crashing kernel.
            return subprocess.Popen(
                command,
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
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
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
        order = {
            "buffers": [[r.offset, r.length, r.delta, b.writable] for b, r in placed],
            "arguments": arguments,
            "calls": calls,
        }
        self._send(json.dumps(order))
        self._await("mapped", time.monotonic() + START_SECONDS)
        self._await("done", time.monotonic() + self.timeout)
        written = [(b, r) for b, r in placed if b.writable]
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

    def _send(self, line: str) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(line.encode() + b"\n")
            pipe.flush()
        except OSError:
            raise self._death(kernel_at_fault=False) from None

    def _await(self, word: str, deadline: float) -> None:
        answer = self._read_line(deadline)
        if answer == word:
            return
        if answer is None and word == "done":
            raise KernelFault("timeout", f"did not return within {self.timeout:g} s")
        if answer is None:
            raise InfraError("the verifier's child does not answer")
        if answer.startswith("error "):
            raise InfraError(answer.removeprefix("error "))
        if answer:
            # Our side of the child speaks in turn, so the kernel wrote this.
            raise KernelFault("crash", "writes to the pipe of the verifier's child")
        raise self._death(kernel_at_fault=word == "done")

    def _read_line(self, deadline: float) -> str | None:
        """One line; empty at the end of the stream, None when there is none in time."""
        pipe = self._process.stdout
        assert pipe is not None
        while b"\n" not in self._unread:
            ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            piece = os.read(pipe.fileno(), 4096)
            if not piece:
                return ""
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _death(self, *, kernel_at_fault: bool) -> KernelFault | InfraError:
        try:
            code = self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            return InfraError("the verifier's child closed its output, but lives")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        if not kernel_at_fault:
            return InfraError(f"the verifier's child ended with {how}")
        if -code in (signal.SIGSEGV, signal.SIGBUS):
            return KernelFault(
                "guard", f"{how}: reads or writes outside its buffers, or writes an input"
            )
        return KernelFault("crash", f"ended its process with {how}")
