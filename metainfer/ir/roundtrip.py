"""Does a module survive being printed? Both forms, with locations, against the module itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from metainfer.ir.diagnostics import DiagnosticError, Note, error
from metainfer.ir.text import parse_module, place_of, print_module

FORMS = {"custom": False, "generic": True}


def check_round_trip(module: ModuleOp, ctx: Context) -> None:
    """Raise DiagnosticError if the text of `module` does not parse back to it."""
    for form, generic in FORMS.items():
        text = print_module(module, generic=generic, locations=True)
        try:
            back = parse_module(text, f"<{form} form>", ctx)
        except DiagnosticError as problem:
            (first, *_) = problem.diagnostics
            line = text.split("\n")[first.place.line - 1].strip() if first.place else ""
            raise error(
                f"the {form} form of the module does not parse: {first.message}",
                notes=[Note(f"in: {line}")] if line else (),
            ) from problem
        for what, op in differences(module, back):
            message = f"the {form} form of {op.name} parses back with another {what}"
            raise error(message, place_of(op))


def differences(left: Operation, right: Operation) -> Iterator[tuple[str, Operation]]:
    """What differs between two ops and all they hold: (what, op of the left side), in order."""
    yield from _ops(left, right, {})


def _ops(
    left: Operation, right: Operation, values: dict[SSAValue, SSAValue]
) -> Iterator[tuple[str, Operation]]:
    if left.name != right.name:
        yield "op", left
        return
    if left.location != right.location:
        yield "location", left
    if left.properties != right.properties or left.attributes != right.attributes:
        yield (
            _attribute(left.properties, right.properties)
            or _attribute(left.attributes, right.attributes),
            left,
        )
    if [values.get(v) for v in left.operands] != list(right.operands):
        yield "operand", left
    if [r.type for r in left.results] != [r.type for r in right.results]:
        yield "result type", left
    values.update(zip(left.results, right.results, strict=False))
    if len(left.regions) != len(right.regions):
        yield "number of regions", left
    for ours, theirs in zip(left.regions, right.regions, strict=False):
        if len(ours.blocks) != len(theirs.blocks):
            yield "number of blocks", left
        for mine, other in zip(ours.blocks, theirs.blocks, strict=False):
            yield from _blocks(left, mine, other, values)


def _blocks(
    owner: Operation, left: Block, right: Block, values: dict[SSAValue, SSAValue]
) -> Iterator[tuple[str, Operation]]:
    shown = [[(a.type, a.location) for a in block.args] for block in (left, right)]
    if shown[0] != shown[1]:
        yield "block argument", owner
    values.update(zip(left.args, right.args, strict=False))
    ops, others = list(left.ops), list(right.ops)
    if len(ops) != len(others):
        yield "number of ops", owner
    for mine, other in zip(ops, others, strict=False):
        yield from _ops(mine, other, values)


def _attribute(left: Mapping[str, Attribute], right: Mapping[str, Attribute]) -> str:
    for name in sorted({*left, *right}):
        if left.get(name) != right.get(name):
            return f"attribute '{name}'"
    return ""
