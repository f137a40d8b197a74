"""Which sizes of a module must be equal, and which are a number of heads times a head's width.

Every static dimension of a value, weight, state or buffer is an axis, and so is every attribute
that holds a size. Ops say which axes are one size; what they leave apart may differ, even where the
numbers of this model happen to be equal.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from metainfer.ir.dims import sizes

Axis = tuple[Hashable, Hashable]
"""An op or value, and the dimension or attribute of it."""


class Unscalable(Exception):
    """The module's sizes do not hang together as its ops say; the message tells where."""


@dataclass(frozen=True)
class Product:
    """`total = count * unit`; a count that no op names is None."""

    total: Axis
    count: Axis | None
    unit: Axis


@dataclass
class Sizes:
    """Axes that are equal, as a forest, and what else is known of them."""

    size: dict[Axis, int] = field(default_factory=dict)
    parent: dict[Axis, Axis] = field(default_factory=dict)
    products: list[Product] = field(default_factory=list)
    ratios: list[tuple[Axis, Axis]] = field(default_factory=list)
    """Query heads and KV heads of an attention."""
    blocks: list[tuple[Axis, int]] = field(default_factory=list)
    """Axes that a quantised format cuts into blocks of so many values."""

    def define(self, axis: Axis, size: int) -> Axis:
        """An axis and its size now."""
        self.size.setdefault(axis, size)
        self.parent.setdefault(axis, axis)
        return axis

    def root(self, axis: Axis) -> Axis:
        """The axis that stands for all that are equal to this one."""
        while self.parent[axis] != axis:
            self.parent[axis] = self.parent[self.parent[axis]]
            axis = self.parent[axis]
        return axis

    def same(self, a: Axis, b: Axis, where: str = "") -> None:
        """Two axes are one size; Unscalable if they are not."""
        if self.size[a] != self.size[b]:
            raise Unscalable(f"{where}: {self.size[a]} and {self.size[b]} should be one size")
        self.parent[self.root(b)] = self.root(a)

    def multiply(self, total: Axis, count: Axis | None, unit: Axis, where: str) -> None:
        """`total = count * unit`."""
        whole, one = self.size[total], self.size[unit]
        if whole % one or (count is not None and whole != self.size[count] * one):
            raise Unscalable(f"{where}: {whole} is no such multiple of {one}")
        self.products.append(Product(total, count, unit))

    def axes(self, holder: SSAValue | Operation, type_: Attribute) -> dict[int, Axis]:
        """The static dimensions of a tensor type, by number; counted from the end too."""
        found: dict[int, Axis] = {}
        if isinstance(type_, TensorType):
            shape = sizes(type_)
            for number, size in enumerate(shape):
                if isinstance(size, int):
                    axis = self.define((holder, number), size)
                    found[number] = found[number - len(shape)] = axis
        return found

    def of(self, value: SSAValue) -> dict[int, Axis]:
        """The axes of a value."""
        return self.axes(value, value.type)

    def attribute(self, op: Operation, name: str) -> Axis:
        """The size that an integer attribute of an op holds."""
        number = op.properties[name].value.data  # type: ignore[attr-defined]
        return self.define((op, name), number)

    def values(self, where: str, *values: SSAValue) -> None:
        """All dimensions of these values are the same."""
        first, *rest = values
        for other in rest:
            self.match(self.of(first), self.of(other), where)

    def match(self, a: dict[int, Axis], b: dict[int, Axis], where: str) -> None:
        """The same dimensions, one by one."""
        if a.keys() != b.keys():
            raise Unscalable(f"{where}: dimensions differ")
        for number, axis in a.items():
            self.same(axis, b[number], where)

    def pairs(self, where: str, left: Sequence[SSAValue], right: Sequence[SSAValue]) -> None:
        """Values that are passed on, one by one."""
        if len(left) != len(right):
            raise Unscalable(f"{where}: {len(left)} values for {len(right)}")
        for a, b in zip(left, right, strict=True):
            self.values(where, a, b)

    def settle(self) -> None:
        """A row of heads has one width of a head, and one number of them, whoever says so."""
        of_total: dict[Axis, Product] = {}
        for product in sorted(self.products, key=lambda p: p.count is None):
            first = of_total.setdefault(self.root(product.total), product)
            self.same(first.unit, product.unit, "a row of heads")
            if first.count is not None and product.count is not None:
                self.same(first.count, product.count, "a row of heads")

    def classes(self) -> Iterable[Axis]:
        """One axis of each size, in the order in which they were met."""
        return dict.fromkeys(self.root(axis) for axis in self.parent)
