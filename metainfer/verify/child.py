"""The process that runs a candidate. A script of its own: it imports nothing of the package.

    python child.py LIBRARY SYMBOL FD

`FD` is shared memory. Each line on stdin is one run: buffers as stretches of that memory, the
arguments of the call, and which parts to call in which order. Every buffer is mapped afresh
between inaccessible guard regions, inputs read-only. The answers on stdout (`ready`, `mapped`,
`done`) only tell the parent when to look; they carry no result. `error ...` is a fault of this
script's own work.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import resource
import signal
import sys
from typing import Any

GUARD = 256 * mmap.PAGESIZE
"""Inaccessible bytes on each side: several rows of any matrix."""
_FIXED = 0x10
_NONE = 0
_RUN_FAILED = ctypes.c_void_p(-1).value
_PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Batch(ctypes.Structure):
    """`struct mi_batch` of the engine."""

    _fields_ = [
        ("tokens", ctypes.c_int32),
        ("seqs", ctypes.c_int32),
        ("vectors", ctypes.c_void_p * 6),
    ]


class Mapping:
    """`length` bytes between guards, from shared memory (`fd`) or of their own (`fd` = -1)."""

    def __init__(self, fd: int, offset: int, length: int, protection: int) -> None:
        self.whole = length + 2 * GUARD
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self.reserved = _mmap(None, self.whole, _NONE, flags, -1, 0)
        self.length = length
        self.base = self.reserved + GUARD
        flags = _FIXED | (mmap.MAP_SHARED if fd >= 0 else flags)
        _mmap(self.base, length, protection, flags, fd, offset)

    def protect(self) -> None:
        if libc.mprotect(self.base, self.length, mmap.PROT_READ):
            raise OSError(ctypes.get_errno(), "mprotect")

    def close(self) -> None:
        libc.munmap(self.reserved, self.whole)


def _mmap(
    address: int | None, length: int, protection: int, flags: int, fd: int, offset: int
) -> int:
    result = libc.mmap(address, length, protection, flags, fd, offset)
    if result is None or result == _RUN_FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    return int(result)


class Run:
    """The memory and the arguments of one run."""

    def __init__(self, order: dict[str, Any], fd: int) -> None:
        self.mappings: list[Mapping] = []
        self.addresses: list[int] = []
        for offset, length, delta, writable in order["buffers"]:
            protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
            self.addresses.append(self.map(fd, offset, length, protection).base + delta)
        self.arguments = [self.argument(*given) for given in order["arguments"]]

    def map(self, fd: int, offset: int, length: int, protection: int) -> Mapping:
        mapping = Mapping(fd, offset, length, protection)
        self.mappings.append(mapping)
        return mapping

    def argument(self, kind: str, *values: Any) -> ctypes.c_int32 | ctypes.c_void_p:
        if kind == "int":
            return ctypes.c_int32(values[0])
        if kind == "buffer":
            return ctypes.c_void_p(self.addresses[values[0]])
        return ctypes.c_void_p(self.batch(*values))

    def batch(self, tokens: int, seqs: int, vectors: list[int]) -> int:
        page = self.map(-1, 0, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)
        address = page.base + mmap.PAGESIZE - ctypes.sizeof(Batch)
        batch = Batch.from_address(address)
        batch.tokens, batch.seqs = tokens, seqs
        batch.vectors[:] = [self.addresses[v] for v in vectors]
        page.protect()
        return address

    def close(self) -> None:
        for mapping in self.mappings:
            mapping.close()


def _say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def _prepare() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(library: str, symbol: str, fd: int) -> None:
    """Serve runs until stdin ends."""
    try:
        _prepare()
        function = ctypes.CDLL(library)[symbol]
        function.restype = None
        _say("ready")
        for line in sys.stdin:
            order = json.loads(line)
            run = Run(order, fd)
            _say("mapped")
            for part, parts in order["calls"]:
                function(*run.arguments, ctypes.c_int32(part), ctypes.c_int32(parts))
            run.close()
            _say("done")
    except (OSError, AttributeError, ValueError, KeyError) as problem:
        _say("error " + " ".join(str(problem).split()))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
