"""The body policy: what the text of a kernel body may hold, checked before any compiler sees it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.abi import CArg, signature
from metainfer.codegen.c.sources import isa_name
from metainfer.ir.diagnostics import Diagnostic, Note, Place
from metainfer.ir.dialects import kernel
from metainfer.ir.symbols import all_of
from metainfer.verify.sandbox.allowed import Allowed, allowed_in
from metainfer.verify.sandbox.grammar import grammar_breaches
from metainfer.verify.sandbox.kinds import Kind
from metainfer.verify.sandbox.text import Breach, lexical_breaches, without_comments


def refused_bodies(module: ModuleOp) -> dict[str, str]:
    """Kernels of a module whose body breaks the policy, with the first breach of each."""
    allowed = allowed_in(isa_name(module))
    found: dict[tuple[str, tuple[CArg, ...]], list[Breach]] = {}
    refused = {}
    for func in all_of(module, kernel.FuncOp):
        text = "\n".join(line.data for line in func.body or ())
        # Entries differ in their ranges only, so most bodies occur twice.
        key = text, tuple(signature(func, module))
        if key not in found:
            found[key] = _breaches(*key, allowed)
        if found[key]:
            first = _diagnostic(found[key][0], text, func.sym_name.data)
            refused[func.sym_name.data] = f"{first.place}: {first.message}"
    return refused


def body_breaches(
    lines: Sequence[str], parameters: Sequence[CArg], allowed: Allowed, name: str
) -> list[Diagnostic]:
    """One diagnostic per breach, with its line and column in the body of kernel `name`."""
    text = "\n".join(lines)
    return [_diagnostic(b, text, name) for b in _breaches(text, parameters, allowed)]


def _breaches(text: str, parameters: Sequence[CArg], allowed: Allowed) -> list[Breach]:
    breaches = list(lexical_breaches(text))
    if not breaches:
        breaches = grammar_breaches(without_comments(text), kinds_of(parameters), allowed)
    return sorted(breaches, key=lambda b: b.at)


def kinds_of(parameters: Sequence[CArg]) -> Mapping[str, Kind]:
    """The kind of each parameter of a kernel's C function."""
    return {p.name: _kind(p) for p in parameters}


def _kind(parameter: CArg) -> Kind:
    pointer = parameter.ctype.endswith("*")
    const = pointer and parameter.ctype.startswith("const")
    return Kind(int(pointer), const, parameter.role == "batch")


def _diagnostic(breach: Breach, text: str, name: str) -> Diagnostic:
    starts = [0, *(i + 1 for i, c in enumerate(text) if c == "\n")]
    row = bisect_right(starts, breach.at) - 1
    line = text[starts[row] :].split("\n", 1)[0]
    place = Place(f"@{name}", row + 1, breach.at - starts[row] + 1, breach.length)
    return Diagnostic(f"a kernel body may not {breach.what}", place, (Note(line.strip()),))
