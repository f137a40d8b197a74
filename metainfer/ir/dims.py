"""Named, ranged dimensions, and the layers a symbol or a call covers.

A dynamic dimension of a `tensor` carries a name through the encoding (`#infer.dims<tokens, _>`);
a function declares the range of each name (`#infer.ranges<tokens = 1 to 512>`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

STATIC = "_"
"""What `#infer.dims` shows for a dimension whose size is in the type."""


def _print_range(printer: Printer, first: int, last: int) -> None:
    printer.print_string(f"{first} to {last}")


def _parse_range(parser: AttrParser) -> tuple[int, int]:
    first = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_keyword("to")
    return first, parser.parse_integer(allow_boolean=False, allow_negative=False)


@irdl_attr_definition
class DimsAttr(ParametrizedAttribute):
    """Names of a tensor's dimensions; `_` for a static one: `#infer.dims<tokens, _>`."""

    name = "infer.dims"
    names: ArrayAttr[StringAttr]

    @staticmethod
    def of(*names: str) -> DimsAttr:
        return DimsAttr(ArrayAttr([StringAttr(n) for n in names]))

    def __iter__(self) -> Iterator[str]:
        return (n.data for n in self.names)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        names = parser.parse_comma_separated_list(
            parser.Delimiter.ANGLE, lambda: StringAttr(parser.parse_identifier())
        )
        return [ArrayAttr(names)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(self))


@irdl_attr_definition
class RangesAttr(ParametrizedAttribute):
    """Inclusive range of each named dimension: `#infer.ranges<tokens = 1 to 512>`."""

    name = "infer.ranges"
    names: ArrayAttr[StringAttr]
    bounds: ArrayAttr[ArrayAttr[IntAttr]]

    @staticmethod
    def of(ranges: dict[str, tuple[int, int]]) -> RangesAttr:
        return RangesAttr(
            ArrayAttr([StringAttr(n) for n in ranges]),
            ArrayAttr([ArrayAttr([IntAttr(a), IntAttr(b)]) for a, b in ranges.values()]),
        )

    def as_dict(self) -> dict[str, tuple[int, int]]:
        return {
            n.data: (b.data[0].data, b.data[1].data)
            for n, b in zip(self.names, self.bounds, strict=True)
        }

    def verify(self) -> None:
        if len(self.names) != len(self.bounds) or len(set(self.names)) != len(self.names):
            raise VerifyException("each dimension needs one range")
        for name, (first, last) in self.as_dict().items():
            if not 1 <= first <= last:
                raise VerifyException(f"range of '{name}' is {first} to {last}, want 1 <= a <= b")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        def one() -> tuple[str, tuple[int, int]]:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            return name, _parse_range(parser)

        ranges = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, one)
        names = ArrayAttr([StringAttr(name) for name, _ in ranges])
        return [names, ArrayAttr([ArrayAttr(map(IntAttr, pair)) for _, pair in ranges])]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(
                ", ".join(f"{n} = {a} to {b}" for n, (a, b) in self.as_dict().items())
            )


@irdl_attr_definition
class LayersAttr(ParametrizedAttribute):
    """Inclusive runs of layers: `#infer.layers<0 to 4, 6 to 10>`."""

    name = "infer.layers"
    runs: ArrayAttr[ArrayAttr[IntAttr]]

    @staticmethod
    def of(layers: Iterable[int]) -> LayersAttr:
        """Run-length form of ascending layer numbers."""
        runs: list[list[int]] = []
        for layer in layers:
            if runs and layer == runs[-1][1] + 1:
                runs[-1][1] = layer
            else:
                runs.append([layer, layer])
        return LayersAttr(ArrayAttr([ArrayAttr([IntAttr(a), IntAttr(b)]) for a, b in runs]))

    def __iter__(self) -> Iterator[int]:
        for first, last in self.pairs():
            yield from range(first, last + 1)

    def pairs(self) -> list[tuple[int, int]]:
        return [(r.data[0].data, r.data[1].data) for r in self.runs]

    def verify(self) -> None:
        previous = -1
        for first, last in self.pairs():
            if not previous < first <= last:
                raise VerifyException("runs of layers must ascend without overlap")
            previous = last

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        runs = parser.parse_comma_separated_list(
            parser.Delimiter.ANGLE, lambda: _parse_range(parser)
        )
        return [ArrayAttr([ArrayAttr([IntAttr(a), IntAttr(b)]) for a, b in runs])]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"{a} to {b}" for a, b in self.pairs()))


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """Which function runs which layers, in order: `#infer.schedule<@layer 0 to 29>`."""

    name = "infer.schedule"
    functions: ArrayAttr[SymbolRefAttr]
    runs: ArrayAttr[ArrayAttr[IntAttr]]

    @staticmethod
    def of(steps: Iterable[tuple[str, int, int]]) -> ScheduleAttr:
        steps = list(steps)
        return ScheduleAttr(
            ArrayAttr([SymbolRefAttr(name) for name, _, _ in steps]),
            ArrayAttr([ArrayAttr([IntAttr(a), IntAttr(b)]) for _, a, b in steps]),
        )

    def steps(self) -> list[tuple[str, int, int]]:
        """`(function, first layer, last layer)` in execution order."""
        return [
            (f.root_reference.data, r.data[0].data, r.data[1].data)
            for f, r in zip(self.functions, self.runs, strict=True)
        ]

    def verify(self) -> None:
        if len(self.functions) != len(self.runs):
            raise VerifyException("each run of layers needs one function")
        for name, first, last in self.steps():
            if first > last:
                raise VerifyException(f"@{name} runs layers {first} to {last}, want a <= b")

    def renamed(self, names: dict[str, str]) -> ScheduleAttr:
        return ScheduleAttr.of((names.get(f, f), a, b) for f, a, b in self.steps())

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        def one() -> tuple[str, int, int]:
            name = parser.parse_symbol_name().data
            return (name, *_parse_range(parser))

        steps = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, one)
        attribute = ScheduleAttr.of(steps)
        return [attribute.functions, attribute.runs]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(f"@{f} {a} to {b}" for f, a, b in self.steps()))


def dim_names(type_: Attribute) -> tuple[str, ...]:
    """Name of each dimension of a tensor type, `_` where it is static.

    A tensor without that encoding has static dimensions only; a packed weight's encoding is the
    symbol of its layout.
    """
    assert isinstance(type_, TensorType)
    if isinstance(type_.encoding, DimsAttr):
        return tuple(type_.encoding)
    return (STATIC,) * type_.get_num_dims()


def tensor(element: Attribute, *dims: int | str) -> TensorType[Attribute]:
    """A tensor type from sizes and names: `tensor(f32, "tokens", 576)`."""
    shape = [d if isinstance(d, int) else DYNAMIC_INDEX for d in dims]
    if all(isinstance(d, int) for d in dims):
        return TensorType(element, shape)
    names = DimsAttr.of(*(STATIC if isinstance(d, int) else d for d in dims))
    return TensorType(element, shape, names)


def sizes(type_: Attribute) -> tuple[int | str, ...]:
    """Sizes and names of a tensor's dimensions, the inverse of `tensor`."""
    assert isinstance(type_, TensorType)
    shape = type_.get_shape()
    return tuple(
        n if s == DYNAMIC_INDEX else s for s, n in zip(shape, dim_names(type_), strict=True)
    )


def verify_dims(type_: Attribute) -> None:
    """Check that dynamic dimensions, and only they, have names."""
    if not isinstance(type_, TensorType):
        return
    if not isinstance(type_.encoding, DimsAttr):
        if DYNAMIC_INDEX in type_.get_shape():
            raise VerifyException(f"{type_}: a dynamic dimension needs a name in #infer.dims")
        return
    names = dim_names(type_)
    if len(names) != type_.get_num_dims():
        raise VerifyException(f"{type_}: {len(names)} names for {type_.get_num_dims()} dimensions")
    for size, name in zip(type_.get_shape(), names, strict=True):
        if (size == DYNAMIC_INDEX) != (name != STATIC):
            raise VerifyException(f"{type_}: exactly the dynamic dimensions carry names")
