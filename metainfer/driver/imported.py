"""What a dump imported from contracts, compared with the contracts that are here."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer
from metainfer.ir.symbols import lookup
from metainfer.ir.text import place_of
from metainfer.knowledge.base import Knowledge
from metainfer.passes.imports import import_format, import_layout, import_path

Imported = infer.FormatOp | infer.LayoutOp | infer.PathOp
_IMPORT = {
    infer.FormatOp: import_format,
    infer.LayoutOp: import_layout,
    infer.PathOp: import_path,
}


def check_imports(module: ModuleOp, knowledge: Knowledge, doubt: Callable[[str], None]) -> None:
    """Refuse an imported op that is not what the contract of its hash says.

    `doubt` is told of one whose contract is not here, or is here in another version: its meaning
    cannot be compared, and the dump's own holds.
    """
    for op in module.ops:
        if isinstance(op, Imported):
            _check(op, knowledge, doubt)


def _check(op: Imported, knowledge: Knowledge, doubt: Callable[[str], None]) -> None:
    id_, name = op.contract.data, op.sym_name.data
    if id_ not in knowledge.ids(id_.split("/")[0]):
        doubt(f"@{name}: there is no contract {id_} here to compare it with")
    elif knowledge.hash(id_) != op.hash.data:
        doubt(f"@{name} comes from another version of contract {id_} than the one here")
    else:
        here = ModuleOp([])
        _IMPORT[type(op)](here, id_.split("/")[1], knowledge)
        ours: Operation = lookup(here, name, type(op))
        ours.detach()  # ops of two modules are never equivalent
        if not ours.is_structurally_equivalent(op):
            raise error(f"{op.name} @{name} is not what contract {id_} says", place_of(op))
