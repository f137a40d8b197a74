"""The `kernel` dialect: functions that carry their own meaning.

A `kernel.func` holds a semantics region (ops that the interpreter runs), a body (text in a target
language) and a key (hash of everything that decides what the body must do and how it is built).
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, SymbolNameConstraint
from xdsl.dialects.builtin import SymbolRefAttr as Symbol
from xdsl.ir import Attribute, Block, Dialect
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from metainfer.ir.dims import RangesAttr
from metainfer.ir.syntax import SimpleOp, split_attributes

PARTS = ("rows", "columns", "heads", "tokens", "none")


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A kernel: arguments by name, results by name, meaning, and (once filled) a verified body.

    `parts` is the axis along which threads share the work: `rows` (16 output rows at a time),
    `columns` (16 at a time), `heads`, `tokens`, or `none` (the first part does everything).

    ```mlir
    kernel.func @add(%a: tensor<?x8xf32, #infer.dims<tokens, _>>, \
%b: tensor<?x8xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x8xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @f32_rows16} {
      %0 = infer.add %a, %b : tensor<?x8xf32, #infer.dims<tokens, _>>
      kernel.return %0
    }
    ```
    """

    name = "kernel.func"
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    arguments = prop_def(ArrayAttr[StringAttr])
    outputs = prop_def(ArrayAttr[StringAttr])
    dims = prop_def(RangesAttr)
    parts = prop_def(StringAttr)
    path = prop_def(Symbol)
    provider = opt_prop_def(StringAttr)
    """Who wrote the body: `rule`, or the id of a kernel contract."""
    target = opt_prop_def(StringAttr)
    """Language and instruction set of the body."""
    body = opt_prop_def(ArrayAttr[StringAttr])
    """Lines of the body."""
    key = opt_prop_def(StringAttr)
    semantics = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())

    def verify_(self) -> None:
        if self.parts.data not in PARTS:
            raise VerifyException(f"parts '{self.parts.data}' is none of {', '.join(PARTS)}")
        block = self.semantics.block
        if tuple(block.arg_types) != self.function_type.inputs.data:
            raise VerifyException("block arguments and signature differ")
        last = block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException("semantics end with kernel.return")
        if tuple(last.operand_types) != self.function_type.outputs.data:
            raise VerifyException("returned values and signature differ")
        if len(self.arguments) != len(block.args) or len(self.outputs) != len(last.operands):
            raise VerifyException("each argument and result has one name")

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        paren = parser.Delimiter.PAREN
        arguments = parser.parse_comma_separated_list(paren, lambda: _placed_argument(parser))
        parser.parse_punctuation("->")

        def result() -> tuple[str, Attribute]:
            name = parser.parse_identifier()
            parser.parse_punctuation(":")
            return name, parser.parse_type()

        results = parser.parse_comma_separated_list(paren, result)
        given, attributes = split_attributes(cls, parser.parse_optional_dictionary_attr_dict())
        properties["function_type"] = FunctionType.from_lists(
            [a.type for a in arguments], [t for _, t in results]
        )
        properties["arguments"] = ArrayAttr([StringAttr(a.name.text[1:]) for a in arguments])
        properties["outputs"] = ArrayAttr([StringAttr(n) for n, _ in results])
        region = parser.parse_region(arguments)
        if parser.parse_optional_keyword("body"):
            properties["body"] = parser.parse_attribute()
        return cls.create(properties=properties | given, attributes=attributes, regions=[region])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        block = self.semantics.block
        self._name_arguments(block)
        printer.enter_scope()
        with printer.in_parens():
            printer.print_list(block.args, printer.print_block_argument)
        printer.print_string(" -> ")
        with printer.in_parens():
            names_types = zip(self.outputs, self.function_type.outputs, strict=True)
            printer.print_list(list(names_types), lambda nt: self._print_result(printer, *nt))
        signature = ("sym_name", "function_type", "arguments", "outputs", "body")
        shown = {k: v for k, v in sorted(self.properties.items()) if k not in signature}
        printer.print_string(" ")
        printer.print_attr_dict(shown | self.attributes)
        printer.print_string(" ")
        printer.print_region(self.semantics, print_entry_block_args=False)
        printer.exit_scope()
        if self.body is not None:
            self._print_body(printer, self.body)

    def _name_arguments(self, block: Block) -> None:
        for argument, name in zip(block.args, self.arguments, strict=True):
            argument.name_hint = name.data

    @staticmethod
    def _print_result(printer: Printer, name: StringAttr, type_: Attribute) -> None:
        printer.print_string(f"{name.data}: ")
        printer.print_attribute(type_)

    @staticmethod
    def _print_body(printer: Printer, body: ArrayAttr[StringAttr]) -> None:
        printer.print_string(" body [")
        with printer.indented():
            for number, line in enumerate(body):
                printer.print_string("," if number else "")
                printer._print_new_line()  # pyright: ignore[reportPrivateUsage]
                _print_line(printer, line.data)
        printer._print_new_line()  # pyright: ignore[reportPrivateUsage]
        printer.print_string("]")


def _print_line(printer: Printer, line: str) -> None:
    """A string literal; xDSL's own way, byte by byte, only where something needs an escape."""
    if line.isascii() and line.isprintable() and '"' not in line and "\\" not in line:
        printer.print_string(f'"{line}"')
    else:
        printer.print_string_literal(line)


def _placed_argument(parser: Parser) -> Parser.Argument:
    """`%name: type`, with the location that a debug print adds."""
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


@irdl_op_definition
class ReturnOp(SimpleOp):
    """Ends a kernel's semantics with its results."""

    name = "kernel.return"
    values = var_operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(FuncOp)))


@irdl_op_definition
class CallOp(SimpleOp):
    """The results of a kernel on these arguments; value semantics, as in its definition.

    ```mlir
    %a, %b = "test.values"() : () -> (tensor<?x8xf32, #infer.dims<tokens, _>>, \
tensor<?x8xf32, #infer.dims<tokens, _>>)
    %y = kernel.call @add, %a, %b : tensor<?x8xf32, #infer.dims<tokens, _>>
    ```
    """

    name = "kernel.call"
    SYMBOL: ClassVar[str | None] = "callee"
    callee = prop_def(Symbol)
    operands_ = var_operand_def()
    outs = var_result_def()
    traits = traits_def(Pure())


Kernel = Dialect("kernel", [FuncOp, ReturnOp, CallOp], [])
