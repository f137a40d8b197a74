"""Small sizes for a twin: as few values as keep every relation, and no two sizes alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from math import lcm

from metainfer.driver.validate.sizes import Axis, Product, Sizes, Unscalable

BLOCKS = 2
"""Quant blocks that a row has at least."""
TILE = 16
"""Sizes that may avoid it are no multiple of this, the kernels' tile."""
SMALLEST_HEAD, SMALLEST = 6, 10
KV_HEADS = 2
LARGEST = 1 << 16


@dataclass
class _Choice:
    sizes: Sizes
    chosen: dict[Axis, int] = field(default_factory=dict)
    """By root axis."""

    def run(self) -> dict[Axis, int]:
        self._heads()
        for unit in dict.fromkeys(self.sizes.root(p.unit) for p in self.sizes.products):
            self._unit(unit)
        for root in self.sizes.classes():
            if root not in self.chosen:
                self.chosen[root] = self._free(root)
        self._check()
        return {axis: self.chosen[self.sizes.root(axis)] for axis in self.sizes.parent}

    def _heads(self) -> None:
        """Head counts, with as many query heads per KV head as there are."""
        size, root = self.sizes.size, self.sizes.root
        for product in self.sizes.products:
            if product.count is not None:
                self.chosen.setdefault(root(product.count), min(size[product.count], KV_HEADS))
        for q_heads, kv_heads in self.sizes.ratios:
            group = size[q_heads] // size[kv_heads]
            self.chosen[root(q_heads)] = group * self.chosen[root(kv_heads)]

    def _unit(self, unit: Axis) -> None:
        """The width of a head, and of everything that is so many heads wide."""
        root = self.sizes.root
        totals = {root(p.total): self._count(p) for p in self._products(unit)}
        for width in range(SMALLEST_HEAD, LARGEST, 2):
            widths = {t: n * width for t, n in totals.items()} | {unit: width}
            new = [w for t, w in widths.items() if t not in self.chosen]
            fits = all(self._fits(t, w) for t, w in widths.items())
            if fits and self.chosen.get(unit, width) == width and not self._taken(new):
                self.chosen |= widths
                return
        raise Unscalable("no width of a head fits the formats")

    def _products(self, unit: Axis) -> list[Product]:
        """The products of a unit; those that name their count last, for they decide."""
        mine = [p for p in self.sizes.products if self.sizes.root(p.unit) == unit]
        return sorted(mine, key=lambda p: p.count is not None)

    def _count(self, product: Product) -> int:
        size, root = self.sizes.size, self.sizes.root
        if product.count is not None:
            return self.chosen[root(product.count)]
        return min(size[product.total] // size[product.unit], KV_HEADS)

    def _taken(self, new: list[int]) -> bool:
        return bool(set(new) & set(self.chosen.values()))

    def _multiple(self, root: Axis) -> int:
        return lcm(*(b for axis, b in self.sizes.blocks if self.sizes.root(axis) == root))

    def _fits(self, root: Axis, size: int) -> bool:
        multiple = self._multiple(root)
        return multiple == 1 or (size % multiple == 0 and size >= BLOCKS * multiple)

    def _free(self, root: Axis) -> int:
        multiple = self._multiple(root)
        first = SMALLEST if multiple == 1 else BLOCKS * multiple
        taken = set(self.chosen.values())
        return next(
            size
            for size in count(first, multiple)
            if size not in taken and (multiple % TILE == 0 or size % TILE)
        )

    def _check(self) -> None:
        for p in self.sizes.products:
            total, unit = self._new(p.total), self._new(p.unit)
            if total % unit or (p.count is not None and total != self._new(p.count) * unit):
                raise Unscalable(f"{self.sizes.size[p.total]} is several numbers of heads")

    def _new(self, axis: Axis) -> int:
        return self.chosen[self.sizes.root(axis)]


def small_sizes(sizes: Sizes) -> Mapping[Axis, int]:
    """A size for every axis: relations hold, rows have two quant blocks or more, sizes differ.

    Unscalable where the relations leave no such choice.
    """
    sizes.settle()
    return _Choice(sizes).run()
