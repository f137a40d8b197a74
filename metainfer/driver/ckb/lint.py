"""`ckb lint`: everything about the contracts that can be wrong without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.ckb.detectors import DETECTORS
from metainfer.files import write_atomic
from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean
from metainfer.ir.dialects.infer import Infer
from metainfer.ir.symbols import lookup
from metainfer.ir.verify import verify_module
from metainfer.knowledge import lock, schema
from metainfer.knowledge.base import CONTRACT, Knowledge
from metainfer.knowledge.contracts import (
    Contract,
    Failure,
    Family,
    Fusion,
    Quant,
)
from metainfer.knowledge.overlaps import overlaps
from metainfer.knowledge.scope import Names
from metainfer.passes.imports import import_format, parse_fragment
from metainfer.passes.resolve_model import config_maps

MAP = "map.yaml"


def lint(knowledge: Knowledge) -> list[Diagnostic]:
    """All that is wrong, contract by contract, then what is wrong between them."""
    found: list[Diagnostic] = []
    contracts: list[Contract] = []
    for id_, path in knowledge.folders.items():
        if not (path / MAP).is_file():
            with _collecting(found):
                contracts.append(knowledge.get(id_, Contract))
    with _collecting(found):
        config_maps(knowledge)
    for contract in contracts:
        found += [_at(contract, m, knowledge) for m in _references(contract, knowledge)]
        inner: list[Diagnostic] = []
        with _collecting(inner):
            _check_fragments(contract, knowledge)
        found += [_at(contract, d.message, knowledge) for d in inner]
    return [*found, *overlaps(contracts, knowledge), *_shipped(knowledge)]


def seal(knowledge: Knowledge) -> list[Path]:
    """Write the digests and schemas of the shipped contracts; the files that were written."""
    texts = {knowledge.root / lock.FILE: lock.lock_text(knowledge)}
    folder = knowledge.root / schema.FOLDER
    texts |= {folder / name: text for name, text in schema.schemas().items()}
    changed = [p for p, text in texts.items() if not p.is_file() or p.read_text("utf-8") != text]
    for path in changed:
        write_atomic(path, texts[path])
    return changed


@contextmanager
def _collecting(found: list[Diagnostic]) -> Iterator[None]:
    try:
        yield
    except DiagnosticError as problem:
        found += problem.diagnostics


def _at(contract: Contract, message: str, knowledge: Knowledge) -> Diagnostic:
    return Diagnostic(f"{knowledge.path(contract.id, CONTRACT)}: {message}")


def _references(contract: Contract, knowledge: Knowledge) -> Iterator[str]:
    """Names in a contract that nothing answers to."""
    kind = contract.id.split("/")[0]
    for id_ in contract.overrides:
        if id_ == contract.id or id_ not in knowledge.ids(kind):
            yield f"overrides: no other {kind} contract {id_}"
    if isinstance(contract, Family) and contract.weight_map not in knowledge.ids("weight_map"):
        yield f"weight_map: no contract {contract.weight_map}"
    if isinstance(contract, Failure) and contract.detector not in DETECTORS:
        near = did_you_mean(contract.detector, DETECTORS) or f"there are {', '.join(DETECTORS)}"
        yield f"detector: no '{contract.detector}'; {near}"
    yield from _named(contract, "op", [op.name for op in Infer.operations])
    yield from _named(contract, "format", [i.split("/")[1] for i in knowledge.ids("quant")])
    tests = knowledge.root.parent / "tests"
    if tests.is_dir():  # in a checkout: a wheel has none
        yield from (f"guards: no {g}" for g in contract.guards if not _is_test(g, tests.parent))


def _named(contract: Contract, field: str, known: Sequence[str]) -> Iterator[str]:
    extent = contract.box().get(field)
    if isinstance(extent, Names):
        for name in sorted(extent.names.difference(known)):
            yield f"applies.{field}: no {field} '{name}'"


def _is_test(guard: str, root: Path) -> bool:
    file, _, function = guard.partition("::")
    path = root / file
    return path.is_file() and f"def {function}(" in path.read_text(encoding="utf-8")


def _check_fragments(contract: Contract, knowledge: Knowledge) -> None:
    """DiagnosticError where the files beside a contract are not what its kind needs."""
    if isinstance(contract, Quant):
        module = ModuleOp([])
        import_format(module, contract.id.split("/")[1], knowledge)
        verify_module(module)
    elif isinstance(contract, Fusion):
        fragment = parse_fragment(knowledge.fragment(contract.id, "pattern.mlir"))
        lookup(fragment, "pattern", func.FuncOp)
    elif isinstance(contract, Family):
        for name in ("layer.mlir", "forward.mlir"):
            knowledge.fragment(contract.id, name)


def _shipped(knowledge: Knowledge) -> Iterator[Diagnostic]:
    """What has to be written anew with `--seal`."""
    yield from lock.differences(knowledge)
    help_ = "metainfer ckb lint --seal"
    for id_ in lock.unlisted(knowledge):
        yield Diagnostic(f"contract {id_} has no digest in {lock.FILE}", help=help_)
    for name, text in schema.schemas().items():
        path = knowledge.root / schema.FOLDER / name
        if not path.is_file() or path.read_text("utf-8") != text:
            yield Diagnostic(f"{path} is not current", help=help_)
