"""Memory shared with the child, and where each buffer lies in it."""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
GUARD = 256 * mmap.PAGESIZE
"""Bytes around every buffer that the child cannot reach: several rows of any matrix."""
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
    """An unnamed memory file that grows; fixed buffers come first, those of a run after them.

    The guards are holes in it: they take no memory.
    """

    def __init__(self) -> None:
        self.fd = os.memfd_create("metainfer-verify", os.MFD_CLOEXEC)
        self._map: mmap.mmap | None = None
        self._size = 0
        self._used = 0
        self._fixed: dict[tuple[str, Placement], Region] = {}

    def close(self) -> None:
        """Give the memory back once no process maps it any more."""
        os.close(self.fd)

    def load(self, buffers: list[Buffer], placement: Placement, fill: bytes) -> list[Region]:
        """Place and fill all buffers; the rest of a writable buffer's pages is set to `fill`."""
        for buffer in buffers:
            if buffer.fixed:
                self._place_fixed(buffer, placement)
        regions, end = [], self._used
        for buffer in buffers:
            region = self._fixed.get((buffer.name, placement)) if buffer.fixed else None
            if region is None:
                region = Region.place(end + GUARD, buffer.data.size, buffer.align, placement)
                end = region.offset + region.length
            regions.append(region)
        self._reserve(end + GUARD)
        for buffer, region in zip(buffers, regions, strict=True):
            if not buffer.fixed:
                self._write(region, buffer, fill)
        return regions

    def read(self, region: Region) -> Bytes:
        """A copy of the buffer's bytes."""
        return self.pages(region)[region.delta : region.delta + region.nbytes].copy()

    def pages(self, region: Region) -> Bytes:
        """The whole pages of a region, in place."""
        return np.frombuffer(self._mapped(), np.uint8, region.length, region.offset)

    def _place_fixed(self, buffer: Buffer, placement: Placement) -> None:
        key = (buffer.name, placement)
        if key in self._fixed:
            return
        region = Region.place(self._used + GUARD, buffer.data.size, buffer.align, placement)
        self._used = region.offset + region.length
        self._fixed[key] = region
        self._reserve(self._used)
        self._write(region, buffer, b"\0")

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
