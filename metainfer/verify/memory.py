"""Memory shared with the child, and where each buffer lies in it."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Placement = Literal["end", "start"]
"""Which end of a buffer touches inaccessible memory; the other end does up to one page's rest."""


@dataclass(frozen=True)
class Buffer:
    """Memory that a kernel sees; `data` is what it holds before the run."""

    name: str
    data: Bytes
    align: int = 4
    writable: bool = False
    fixed: bool = False
    """The same bytes in every run (a weight): placed once."""


@dataclass(frozen=True)
class Region:
    """Whole pages `[offset, offset + length)`; the buffer's bytes begin at `delta` in them."""

    offset: int
    length: int
    delta: int
    nbytes: int

    @staticmethod
    def place(offset: int, nbytes: int, align: int, placement: Placement) -> Region:
        length = max(1, -(-nbytes // mmap.PAGESIZE)) * mmap.PAGESIZE
        delta = (length - nbytes) // align * align if placement == "end" else 0
        return Region(offset, length, delta, nbytes)


class SharedMemory:
    """An unnamed memory file that grows; fixed buffers come first, those of a run after them."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("metainfer-verify", os.MFD_CLOEXEC)
        self._map: mmap.mmap | None = None
        self._size = 0
        self._used = 0
        self._fixed: dict[tuple[str, Placement], Region] = {}

    def __enter__(self) -> SharedMemory:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def load(self, buffers: list[Buffer], placement: Placement, fill: bytes) -> list[Region]:
        """Place and fill all buffers; the rest of a writable buffer's pages is set to `fill`."""
        regions: list[Region | None] = [self._known(b, placement) for b in buffers]
        end = self._used
        for number, buffer in enumerate(buffers):
            if regions[number] is None:
                regions[number] = Region.place(end, buffer.data.size, buffer.align, placement)
                end += regions[number].length  # type: ignore[union-attr]
        self._reserve(end)
        placed = [r for r in regions if r is not None]
        for buffer, region in zip(buffers, placed, strict=True):
            if not buffer.fixed:
                self._write(region, buffer, fill)
        return placed

    def read(self, region: Region) -> Bytes:
        """A copy of the buffer's bytes."""
        return self.pages(region)[region.delta : region.delta + region.nbytes].copy()

    def pages(self, region: Region) -> Bytes:
        """The whole pages of a region, in place."""
        return np.frombuffer(self._mapped(), np.uint8, region.length, region.offset)

    def _known(self, buffer: Buffer, placement: Placement) -> Region | None:
        if not buffer.fixed:
            return None
        key = (buffer.name, placement)
        if key not in self._fixed:
            region = Region.place(self._used, buffer.data.size, buffer.align, placement)
            self._used += region.length
            self._fixed[key] = region
            self._reserve(self._used)
            self._write(region, buffer, b"\0")
        return self._fixed[key]

    def _write(self, region: Region, buffer: Buffer, fill: bytes) -> None:
        pages = self.pages(region)
        if buffer.writable:
            pages[:] = np.frombuffer(fill * (region.length // len(fill)), np.uint8)
        pages[region.delta : region.delta + region.nbytes] = buffer.data

    def _reserve(self, size: int) -> None:
        if size <= self._size:
            return
        os.ftruncate(self.fd, size)
        self._size = size
        self._map = mmap.mmap(self.fd, size)

    def _mapped(self) -> mmap.mmap:
        assert self._map is not None
        return self._map
