"""IR text in and out: parsing that gives every op a place, printing that parses back.

xDSL keeps `op.location` but leaves it unknown unless the text carries `loc(...)`, and reports a
type that fails its constraint without any place. The parser here stamps `file:line:col` on each op
that carries no location and turns every complaint about the text into a `DiagnosticError`.

Locations that survive print -> parse: `unknown`, file:line:col, name, call site and fused, nested
in any way, on ops and block arguments. xDSL prints a fused location's metadata but cannot read it
back, so this parser reads `fused<attribute>[...]` itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, AttributeInvT, Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from metainfer.ir.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Note,
    Place,
    did_you_mean,
    error,
)


def parse_module(text: str, filename: str, ctx: Context) -> ModuleOp:
    """The module that `text` spells, with a location on every op; `filename` is the name in them.

    Raises `DiagnosticError` for text that is not IR, names an op that `ctx` does not know or breaks
    a constraint that is checked while parsing. The module itself is not verified here.
    """
    if not text.strip():
        raise error("the input is empty", Place(filename, 1, 1))
    try:
        return _PlacingParser(ctx, text, filename).parse_module()
    except ParseError as problem:
        raise DiagnosticError(_parse_diagnostic(problem)) from problem
    except RecursionError:
        raise error(f"{filename}: regions or attributes are nested too deeply") from None


def print_module(module: ModuleOp, *, generic: bool = False, locations: bool = False) -> str:
    """The text of `module`, ending in a newline: custom or generic form, with or without `loc`."""
    out = StringIO()
    _Printer(out, print_generic_format=generic, print_debuginfo=locations).print_op(module)
    return out.getvalue() + "\n"


class _Printer(Printer):
    """xDSL's printer, but for strings, which that writes character by character."""

    def print_bytes_literal(self, bytestring: bytes) -> None:
        """As xDSL, which escapes backslashes, quotes and all but printable ASCII."""
        self.print_string(f'"{_ESCAPED.sub(_escape, bytestring.decode("latin-1"))}"')


_ESCAPED = re.compile(r"[^ !#-\[\]-~]")


def _escape(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else f"\\{ord(match[0]):02X}"


def place_of(op: Operation) -> Place | None:
    """Where `op` comes from in a source file, or None when its location names no file."""
    return place_of_location(op.location)


def place_of_location(location: Attribute) -> Place | None:
    """The first file position inside `location`; a call site counts as its callee.

    Two positions fused on one line are a stretch from the first to the last character: MLIR's file
    locations have no length, and `.mispec` constraints need one.
    """
    match location:
        case FileLineColLoc():
            return _position(location)
        case NameLoc():
            return place_of_location(location.location)
        case CallSiteLoc():
            return place_of_location(location.callee) or place_of_location(location.caller)
        case FusedLoc(
            locations=ArrayAttr(data=(FileLineColLoc() as first, FileLineColLoc() as last))
        ) if (first.filename, first.line) == (last.filename, last.line):
            length = last.column.data - first.column.data + 1
            return replace(_position(first), length=max(1, length))
        case FusedLoc(locations=ArrayAttr(data=parts)):
            places = (place_of_location(part) for part in parts)
            return next((place for place in places if place), None)
    return None


def _position(location: FileLineColLoc) -> Place:
    return Place(location.filename.data, location.line.data, location.column.data)


class _Lexer(MLIRLexer):
    """xDSL's lexer, but for two faults in how it reads strings.

    Its pattern takes exponential time on a missing quote, and a string that was printed with
    escapes for characters beyond ASCII is read back as bytes, not as the text it was.
    """

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        token = super()._lex_string_literal(start_pos)
        if token.kind is MLIRTokenKind.BYTES_LIT and _is_text(token):
            return MLIRToken(MLIRTokenKind.STRING_LIT, token.span)
        return token


def _is_text(token: MLIRToken) -> bool:
    try:
        StringLiteral.from_span(token.span).bytes_contents.decode()
    except UnicodeDecodeError:
        return False
    return True


ParsedT = TypeVar("ParsedT")
_BRACKETED_TYPE = re.compile(r'(?:tensor|vector|![\w.$-]+)<[^<>"]*(?:<[^<>]*>[^<>"]*)*>')
_FLAT_DICTIONARY = re.compile(r"\{[^{}]*\}")


class _PlacingParser(Parser):
    """xDSL's parser, which also knows where the op it is parsing began."""

    def __init__(self, ctx: Context, text: str, filename: str) -> None:
        super().__init__(ctx, "", filename)
        self._parser_state = ParserState(_Lexer(Input(text, filename)))
        self._text = text
        self._known: dict[str, object] = {}
        self._lines = [0] + [i + 1 for i, c in enumerate(text) if c == "\n"]
        self._filename = StringAttr(filename)
        self._names: list[Span] = []
        self._first_uses: dict[str, Span] = {}
        self._after_location = -1

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """As xDSL, but undefined values are pointed out where they are used first."""
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as problem:
            if not problem.msg.startswith("values used but not defined"):
                raise
            raise DiagnosticError(
                *(
                    Diagnostic(f"%{name} is used but never defined", _place(self._first_uses[name]))
                    for name in self.forward_ssa_references
                )
            ) from problem

    def parse_operation(self) -> Operation:
        depth = len(self._names)
        try:
            op = super().parse_operation()
        except VerifyException as problem:
            name = self._names[-1] if len(self._names) > depth else self._current_token.span
            raise error(f"'{name.text}': {_first_line(problem)}", _place(name)) from problem
        # A location that ends where the parser stands now is the op's own: leave it alone.
        if self._after_location != self.pos:
            op.location = self._location(self._names[depth])
        del self._names[depth:]
        return op

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._names.append(self._current_token.span)
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """As xDSL, but the error points at the name and suggests the nearest one."""
        op = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op is not None:
            return op
        known = [op.name for op in self.ctx.loaded_ops]
        raise error(
            f"unknown operation '{name}'",
            _place(self._names[-1]),
            help=did_you_mean(name, known),
        )

    def resolve_operand(
        self, operand: UnresolvedOperand, type: AttributeInvT
    ) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        if name not in self.ssa_values and name not in self.forward_ssa_references:
            self._first_uses[name] = operand.span
        return super().resolve_operand(operand, type)

    def parse_optional_type(self) -> TypeAttribute | None:
        """As xDSL, but each spelling of a type is read once."""
        return self._once(_BRACKETED_TYPE, super().parse_optional_type)

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        """As xDSL, but each spelling of a dictionary is read once."""
        return dict(self._once(_FLAT_DICTIONARY, super().parse_optional_dictionary_attr_dict))

    def _once(self, pattern: re.Pattern[str], parse: Callable[[], ParsedT]) -> ParsedT:
        """What `parse` made of the same text before, if `pattern` finds such text here.

        Both kinds of text end with a bracket of their own and mean the same wherever they stand.
        The pattern may be wrong about where they end: only what was really parsed is remembered.
        """
        match = pattern.match(self._text, self.pos)
        if match is None:
            return parse()
        if match[0] in self._known:
            self._resume_from(match.end())
            return cast(ParsedT, self._known[match[0]])
        parsed = parse()
        end = match.end()
        if self.pos >= end and not self._text[end : self.pos].strip():
            self._known[match[0]] = parsed
        return parsed

    def parse_optional_location(self) -> LocationAttr | None:
        location = super().parse_optional_location()
        if location is not None:
            self._after_location = self.pos
        return location

    def _parse_location(self) -> LocationAttr:
        """As xDSL, and `fused<metadata>[...]`, which it prints but does not parse."""
        start = self.pos
        if self.parse_optional_keyword("fused") is None:
            return super()._parse_location()
        if self.parse_optional_punctuation("<") is None:
            self._resume_from(start)
            return super()._parse_location()
        metadata = self.parse_attribute()
        self.parse_punctuation(">")
        parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return FusedLoc(ArrayAttr(parts), metadata)

    def _location(self, span: Span) -> FileLineColLoc:
        line = bisect_right(self._lines, span.start)
        column = span.start - self._lines[line - 1] + 1
        return FileLineColLoc(self._filename, IntAttr(line), IntAttr(column))


def _parse_diagnostic(problem: ParseError) -> Diagnostic:
    notes: list[Note] = []
    if isinstance(problem, MultipleSpansParseError):
        label = (problem.ref_text or "see also").rstrip(": ")
        notes = [Note(text or label, _place(span)) for span, text in problem.refs]
    return Diagnostic(problem.msg.strip(), _place(problem.span), tuple(notes))


def _place(span: Span[str] | Span[bytes]) -> Place:
    """The part of `span` on its first line, at least one character."""
    at = span.get_location()
    return Place(at.file, at.line, at.col, max(1, len(span.text.split("\n", 1)[0])))


def _first_line(problem: Exception) -> str:
    return str(problem).strip().split("\n", 1)[0]
