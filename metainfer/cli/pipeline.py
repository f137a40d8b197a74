"""Pipeline text, `pass,pass{option=1 other=a,b}`, to passes; every error points into the text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, get_args, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import (
    ArgSpec,
    ParameterListType,
    PipelineLexer,
    SpecToken,
    SpecTokenKind,
    parse_pipeline,
)
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from metainfer.ir.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Note,
    Place,
    did_you_mean,
    error,
)
from metainfer.passes.describe import pass_info

_BEFORE_OPTION = (SpecTokenKind.L_BRACE, SpecTokenKind.SPACE)

PassTable = Mapping[str, Callable[[], type[ModulePass]]]

SOURCE = "<passes>"
"""The file name of places inside pipeline text."""


Pipelines = Mapping[str, Sequence[str]]
"""Name → the passes that it stands for."""

NONE: Pipelines = {}

ANCHOR = "builtin.module("
"""What mlir-opt wraps pipelines in; ours all run on modules."""


def parse_passes(
    text: str, table: PassTable, pipelines: Pipelines = NONE
) -> tuple[ModulePass, ...]:
    """The passes that `text` names, in order, with their options.

    Raises `DiagnosticError` with a place in `SOURCE` for bad syntax, an unknown pass or option, a
    repeated or missing option and a value of the wrong type.
    """
    if text.startswith(ANCHOR) and text.endswith(")"):
        inner = text[len(ANCHOR) : -1]
        try:
            return parse_passes(inner, table, pipelines)
        except DiagnosticError as problem:
            raise DiagnosticError(*(_anchored(d) for d in problem.diagnostics)) from None
    try:
        specs = list(parse_pipeline(text))
    except ArgSpecParseError as problem:  # derives from BaseException
        raise _syntax_error(str(problem), text) from None
    return tuple(
        one
        for spec, tokens in zip(specs, _elements(text), strict=True)
        for one in _expand(spec, tokens, table, pipelines)
    )


def _anchored(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with its places moved from the inner text to the anchored one."""

    def moved(place: Place | None) -> Place | None:
        if place is None or place.file != SOURCE or place.line != 1:
            return place
        return dataclasses.replace(place, col=place.col + len(ANCHOR))

    notes = tuple(Note(n.message, moved(n.place)) for n in diagnostic.notes)
    return dataclasses.replace(diagnostic, place=moved(diagnostic.place), notes=notes)


def _expand(
    spec: ArgSpec, element: _Element, table: PassTable, pipelines: Pipelines
) -> Iterator[ModulePass]:
    if spec.name not in pipelines:
        yield _build(spec, element, table, pipelines)
        return
    for option in element.options:
        raise error(
            f"pipeline '{spec.name}' has no options",
            _place(option),
            help=f"write its passes out: {','.join(pipelines[spec.name])}",
        )
    yield from (table[name]()() for name in pipelines[spec.name])


def describe_passes(table: PassTable) -> str:
    """For each pass its name, what it does, what must have run before and its options."""
    return "\n".join(_describe(name, load()) for name, load in table.items())


def _describe(name: str, pass_class: type[ModulePass]) -> str:
    info = pass_info(pass_class)
    lines = [f"{name:<20} {info.summary}".rstrip()]
    if info.requires:
        lines.append(f"{'':<20} needs: {info.requires}")
    for option in info.options:
        default = "" if option.default is None else f" = {option.default}"
        lines.append(f"{'':<20} option {option.name}: {option.type}{default}")
    return "\n".join(lines)


@dataclasses.dataclass
class _Element:
    """The tokens of one pass that diagnostics point at."""

    name: SpecToken
    options: list[SpecToken]


def _elements(text: str) -> Iterator[_Element]:
    """The name and option tokens of each pass in `text`, whose syntax is already checked."""
    lexer = PipelineLexer(text)
    element: _Element | None = None
    before: SpecTokenKind | None = None
    inside = False
    while (token := lexer.lex()).kind is not SpecTokenKind.EOF:
        if token.kind is SpecTokenKind.COMMA and not inside:
            if element:
                yield element
            element = None
        elif element is None:
            element = _Element(token, [])
        elif token.kind is SpecTokenKind.IDENT and inside and before in _BEFORE_OPTION:
            element.options.append(token)
        if token.kind in (SpecTokenKind.L_BRACE, SpecTokenKind.R_BRACE):
            inside = token.kind is SpecTokenKind.L_BRACE
        before = token.kind
    if element:
        yield element


def _build(spec: ArgSpec, element: _Element, table: PassTable, pipelines: Pipelines) -> ModulePass:
    load = table.get(spec.name)
    if load is None:
        raise error(
            f"unknown pass '{spec.name}'",
            _place(element.name),
            help=did_you_mean(spec.name, [*table, *pipelines])
            or "metainfer-opt --list-passes names them all",
        )
    pass_class = load()
    for token in element.options:
        _check_option(token, element, pass_class, spec.parameters[token.text])
    given = {_field(token) for token in element.options}
    for missing in sorted(pass_class.required_fields() - given):
        raise error(f"pass '{spec.name}' needs the option '{missing}'", _place(element.name))
    try:
        return pass_class.from_spec(spec)
    except ValueError as problem:
        raise error(f"pass '{spec.name}': {problem}", _place(element.name)) from problem


def _check_option(
    token: SpecToken, element: _Element, pass_class: type[ModulePass], value: ParameterListType
) -> None:
    """Refuse an option that the pass does not have, has already or takes in another type."""
    pass_name, option = element.name.text, token.text
    known = {f.name for f in dataclasses.fields(pass_class) if f.init and f.name != "name"}
    if _field(token) not in known:
        listing = f"its options: {', '.join(sorted(known))}" if known else "it has no options"
        raise error(
            f"pass '{pass_name}' has no option '{option}'",
            _place(token),
            help=did_you_mean(_field(token), known) or listing,
        )
    first = next(t for t in element.options if _field(t) == _field(token))
    if first is not token:
        note = Note("first given here", _place(first))
        raise error(f"option '{option}' is given twice", _place(token), notes=[note])
    expected = get_type_hints(pass_class)[_field(token)]
    if not _fits(value, expected):
        shown = ",".join(str(item) for item in value) or "no value"
        bare_flag = not value and expected is bool
        raise error(
            f"option '{option}' of pass '{pass_name}' takes {type_repr(expected)}, not {shown}",
            _place(token),
            help=f"write {option}=true" if bare_flag else None,
        )


def _fits(value: ParameterListType, expected: Any) -> bool:
    """Whether xDSL's own conversion accepts `value`: one item, a tuple, or nothing for None."""
    if not value:
        return NoneType in get_args(expected)
    return (len(value) == 1 and isa(value[0], expected)) or isa(value, expected)


def _field(token: SpecToken) -> str:
    return token.text.replace("-", "_")


def _place(token: SpecToken) -> Place:
    at = token.span.get_location()
    return Place(SOURCE, at.line, at.col, max(1, token.span.len))


def _syntax_error(report: str, text: str) -> DiagnosticError:
    """xDSL keeps neither token nor message of a syntax error, only the text it would print."""
    where = re.search(r":(\d+):(\d+)\n", report)
    what = re.search(r"\n *(\^+)\n *([^\n]+)", report)
    if where is None or what is None:
        return error(f"cannot read the pipeline '{text}'")
    place = Place(SOURCE, int(where[1]), int(where[2]), len(what[1]))
    offender = text.split("\n")[place.line - 1][place.col - 1 : place.col]
    help_ = None
    if offender.isspace():
        help_ = "no spaces around commas: 'pass,pass{option=1 other=a,b}'"
    elif offender in "/:;@":
        help_ = 'quote a value with such characters: pass{option="a/b"}'
    return error(what[2], place, help=help_)
