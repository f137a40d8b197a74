"""Contracts as ops: a module carries the formats, layouts and numeric paths that it uses.

Each imported op names its contract and the contract's hash, so a dump keeps its meaning on a
machine with another knowledge base.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation

from metainfer.ir.diagnostics import error
from metainfer.ir.dialects import infer, spec
from metainfer.ir.dialects.register import register_dialects
from metainfer.ir.symbols import symbol_name
from metainfer.ir.text import parse_module
from metainfer.knowledge.base import Fragment, Knowledge
from metainfer.knowledge.contracts import Contract, Layout, NumericPath, Quant

OpT = TypeVar("OpT", bound=Operation)


def parse_fragment(fragment: Fragment) -> ModuleOp:
    """The ops of an IR fragment, located in the knowledge base."""
    ctx = Context()
    register_dialects(ctx)
    module = parse_module(fragment.text, fragment.name, ctx)
    for op in module.walk():
        op.location = NameLoc(StringAttr(fragment.name.removeprefix("ckb/")), op.location)
    return module


def insert_symbol(module: ModuleOp, op: Operation) -> None:
    """Add a symbol after the spec and what was imported before; do nothing if it is there."""
    name = symbol_name(op)
    after: Operation | None = None
    for present in module.ops:
        if type(present) is type(op) and symbol_name(present) == name:
            return
        if isinstance(present, _HEAD):
            after = present
    block = module.body.block
    if after is None:
        first = block.first_op
        block.insert_op_before(op, first) if first else block.add_op(op)
    else:
        block.insert_op_after(op, after)


_HEAD = (
    spec.EngineOp,
    infer.FormatOp,
    infer.PathOp,
    infer.LayoutOp,
    infer.WeightOp,
    infer.StateOp,
)


def _header(contract: Contract, knowledge: Knowledge) -> dict[str, Attribute]:
    return {
        "sym_name": StringAttr(contract.id.split("/")[1]),
        "contract": StringAttr(contract.id),
        "hash": StringAttr(knowledge.hash(contract.id)),
    }


def _contract_place(op: OpT, contract: Contract) -> OpT:
    file = StringAttr(f"ckb/{contract.id}/contract.yaml")
    op.location = NameLoc(StringAttr(contract.id), FileLineColLoc(file, IntAttr(1), IntAttr(1)))
    return op


def import_format(module: ModuleOp, name: str, knowledge: Knowledge) -> None:
    """`infer.format @name` with its decode region."""
    contract = knowledge.get(f"quant/{name}", Quant)
    fragment = parse_fragment(knowledge.fragment(contract.id, "decode.mlir"))
    formats = [op for op in fragment.ops if isinstance(op, infer.FormatOp)]
    if len(formats) != 1 or formats[0].sym_name.data != name:
        raise error(f"contract {contract.id}: decode.mlir must define infer.format @{name}")
    op: Operation = formats[0]
    op.detach()
    op.properties |= _header(contract, knowledge) | {
        "type_id": IntegerAttr(contract.type_id, i64),
        "block": IntegerAttr(contract.block, i64),
        "bytes": IntegerAttr(contract.bytes, i64),
        "fields": ArrayAttr([StringAttr(f) for f in contract.fields]),
    }
    insert_symbol(module, op)


def import_layout(module: ModuleOp, name: str, knowledge: Knowledge) -> None:
    """`infer.layout @name`."""
    contract = knowledge.get(f"layout/{name}", Layout)
    op = infer.LayoutOp.create(
        properties=_header(contract, knowledge)
        | {"lanes": IntegerAttr(contract.lanes, i64), "align": IntegerAttr(contract.align, i64)}
    )
    insert_symbol(module, _contract_place(op, contract))


def import_path(module: ModuleOp, name: str, knowledge: Knowledge) -> None:
    """`infer.path @name`."""
    contract = knowledge.get(f"numeric_path/{name}", NumericPath)
    op = infer.PathOp.create(
        properties=_header(contract, knowledge)
        | {
            "accumulate": StringAttr(contract.accumulate),
            "fma": IntegerAttr(int(contract.fma), i1),
            "order": StringAttr(contract.order),
        }
    )
    insert_symbol(module, _contract_place(op, contract))
