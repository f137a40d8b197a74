"""The one assembly form that our simple ops share: symbols, operands, attributes, result types.

`infer.linear %x, %w {bias = false} : tensor<...>` shows every type once, since operand types are
known from their definitions; forward references do not occur in single-block regions.
"""

from __future__ import annotations

from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer


def print_attributes(printer: Printer, op: Operation, hidden: tuple[str, ...] = ()) -> None:
    """Print properties and attributes, sorted by name, as one `{...}` dictionary."""
    shown = {k: v for k, v in sorted((op.properties | op.attributes).items()) if k not in hidden}
    if shown:
        printer.print_string(" ")
        printer.print_attr_dict(shown)


def split_attributes(
    cls: type[IRDLOperation], given: dict[str, Attribute]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Sort a parsed dictionary into the op's declared properties and free attributes."""
    declared = cls.get_irdl_definition().properties
    properties = {k: v for k, v in given.items() if k in declared}
    attributes = {k: v for k, v in given.items() if k not in declared}
    return properties, attributes


def _operand(parser: Parser, name: UnresolvedOperand) -> SSAValue:
    """The value of an operand, which must have been defined before."""
    values = parser.ssa_values.get(name.operand_name, ())
    if name.index >= len(values):
        parser.raise_error(f"value {name.operand_name} is not defined here", name.span)
    return values[name.index]


class SimpleOp(IRDLOperation):
    """`name @symbol, %operands {attributes} : result types`, each part only if present.

    An op with a region writes `attributes {...}` and ends with the region.
    """

    SYMBOL: ClassVar[str | None] = None
    """The property printed first: `sym_name` of a definition or the name of a symbol reference."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        given: dict[str, Attribute] = {}
        if cls.SYMBOL:
            name = parser.parse_symbol_name()
            given[cls.SYMBOL] = name if cls.SYMBOL == "sym_name" else SymbolRefAttr(name)
            parser.parse_optional_punctuation(",")
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        has_region = bool(cls.get_irdl_definition().regions)
        if has_region:
            keyword = parser.parse_optional_attr_dict_with_keyword()
            given |= keyword.data if keyword else {}
        else:
            given |= parser.parse_optional_dictionary_attr_dict()
        properties, attributes = split_attributes(cls, given)
        types: list[Attribute] = []
        if parser.parse_optional_punctuation(":"):
            types = list(
                parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            )
        return cls.create(
            operands=[_operand(parser, o) for o in operands or ()],
            result_types=types,
            properties=properties,
            attributes=attributes,
            regions=[parser.parse_region()] if has_region else [],
        )

    def print(self, printer: Printer) -> None:
        separator = " "
        if self.SYMBOL:
            attribute = self.properties[self.SYMBOL]
            name = (
                attribute.data
                if isinstance(attribute, StringAttr)
                else cast(SymbolRefAttr, attribute).root_reference.data
            )
            printer.print_string(" ")
            printer.print_symbol_name(name)
            separator = ", "
        if self.operands:
            printer.print_string(separator)
            printer.print_list(self.operands, printer.print_ssa_value)
        if self.regions:
            shown = len(self.properties) + len(self.attributes) - bool(self.SYMBOL)
            printer.print_string(" attributes" if shown else "")
        print_attributes(printer, self, (self.SYMBOL,) if self.SYMBOL else ())
        if self.results:
            printer.print_string(" : ")
            printer.print_list(self.results, lambda r: printer.print_attribute(r.type))
        for region in self.regions:
            printer.print_string(" ")
            printer.print_region(region, print_empty_block=False)
