"""The way in: what of a kernel's body is not proven to be safe."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.dialects import kernel
from metainfer.verify.static.accesses import Accesses
from metainfer.verify.static.affine import Space
from metainfer.verify.static.buffers import Interface, given
from metainfer.verify.static.expressions import Expressions
from metainfer.verify.static.integers import Integers
from metainfer.verify.static.loops import Loops
from metainfer.verify.static.operators import Operators
from metainfer.verify.static.reader import NotUnderstood, read_body
from metainfer.verify.static.statements import Statements
from metainfer.verify.static.tree import Place, Stmt
from metainfer.verify.static.values import Finding, Num

WIDTHS = (4, 8, 16)
"""Lanes of a vector, `MI_V`, on the instruction sets there are."""
_VECTORS = re.compile(r"\bMI_[VN]\b|\bv[fi]\b|\bmi_(?!bf16\b|lookup_one\b)")


def check_accesses(func: kernel.FuncOp, module: ModuleOp) -> list[Finding]:
    """What is not proven of a kernel's C body, in the order of its lines; nothing if all is.

    Proven is, for every call that the ABI allows and every width of vectors: each access lies
    inside its buffer and writes none that is only to be read; index arithmetic does not overflow;
    all loops end; no index, bound or branch depends on data, but for tables that are constant.
    `module` defines the formats, layouts and states that the kernel mentions.
    """
    return _check(_text(func), Interface.of(func, module))


def check_kernels(kernels: Sequence[kernel.FuncOp], module: ModuleOp) -> dict[str, list[Finding]]:
    """`check_accesses` of several kernels, by name.

    Entries differ in the ranges of their dimensions only, so most bodies occur twice: what is
    proven of the range that covers all of them is proven of each.
    """
    alike: dict[tuple[str, Hashable], list[tuple[str, Interface]]] = {}
    for func in kernels:
        interface = Interface.of(func, module)
        key = (_text(func), interface.key())
        alike.setdefault(key, []).append((func.sym_name.data, interface))
    found: dict[str, list[Finding]] = {}
    for (text, _), group in alike.items():
        names, interfaces = zip(*group, strict=True)
        if len(group) > 1 and not _check(text, Interface.covering(interfaces)):
            found |= {name: [] for name in names}
        else:
            found |= {name: _check(text, interface) for name, interface in group}
    return {f.sym_name.data: found[f.sym_name.data] for f in kernels}


def _text(func: kernel.FuncOp) -> str:
    return "\n".join(line.data for line in func.body or ())


def _check(text: str, interface: Interface) -> list[Finding]:
    try:
        body = read_body(text, tuple(a.name for a in interface.arguments))
    except NotUnderstood as problem:
        return [problem.finding]
    widths = WIDTHS if _VECTORS.search(text) else WIDTHS[:1]
    found = {f: None for width in widths for f in _findings(interface, body, width)}
    return sorted(found, key=lambda f: f.line)


def _findings(interface: Interface, body: Stmt, width: int) -> list[Finding]:
    """Findings for vectors of `width` lanes.

    The walk is repeated until it meets no more variables that hold data: they are few, and each
    walk adds one at least.
    """
    tainted: set[int] = set()
    while True:
        before = len(tainted)
        found = _walk(interface, body, width, tainted)
        if len(tainted) == before:
            return found


def _walk(interface: Interface, body: Stmt, width: int, tainted: set[int]) -> list[Finding]:
    found: dict[Finding, None] = {}

    def report(place: Place, why: str) -> None:
        found[Finding(place.line, place.text, why)] = None

    integers = Integers(Space())
    given_ = given(interface, integers)
    accesses = Accesses(given_, Operators(integers, report), tainted)
    types = {slot: v.type for slot, v in given_.values.items() if isinstance(v, Num)}
    statements = Statements(Expressions(width, accesses, dict(given_.values)), types)
    Loops(statements)
    statements.run(body)
    return list(found)
