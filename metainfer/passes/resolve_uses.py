"""`resolve-uses`: read the files that a spec uses and put their constraints in its engine.

before: spec.use "base.mispec"
after:  the constraints of base.mispec, at their places in that file
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from metainfer.ir.dialects import spec
from metainfer.ir.symbols import all_of
from metainfer.passes.base import MetaPass
from metainfer.spec.files import read_spec_file
from metainfer.spec.items import Item, Sheet
from metainfer.spec.lower import lift_op, lower_item
from metainfer.spec.uses import resolve
from metainfer.spec.view import place_of


class ResolveUses(MetaPass):
    """Puts the constraints of used files in place of `spec.use` ops; nothing without one."""

    name = "resolve-uses"
    summary: ClassVar[str] = "read the files that a spec uses; refuse contradictions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        resolve_uses(op)


def resolve_uses(module: ModuleOp) -> None:
    """Resolve the `spec.use` ops of `module` in place.

    Paths are relative to the file that the engine is written in. Raises `DiagnosticError` for files
    that cannot be read and constraints that contradict each other.
    """
    for engine in all_of(module, spec.EngineOp):
        if any(isinstance(op, spec.UseOp) for op in engine.body.block.ops):
            _resolve_engine(engine)


def _resolve_engine(engine: spec.EngineOp) -> None:
    block = engine.body.block
    own: dict[int, Operation] = {}
    items: list[Item] = []
    for op in list(block.ops):
        assert isinstance(op, spec.ConstraintOp)
        items.append(lift_op(op))
        own[id(items[-1])] = op
    place = place_of(engine)
    sheet = Sheet(engine.engine_name, place, tuple(items))
    found = resolve(sheet, place.file if place else "", read_spec_file)
    _replace(block, [own.get(id(item)) or lower_item(item) for item in found.items])


def _replace(block: Block, ops: list[Operation]) -> None:
    """Fill the block with `ops`; those of them that it holds already stay what they are."""
    for op in list(block.ops):
        op.detach()
    block.add_ops(ops)
