"""What knows a `failure` contract's fault when it is there: in IR, or in a counter-example.

A detector looks only at the ops and architectures that the contract's `applies` names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from metainfer.ir.diagnostics import Diagnostic, Note
from metainfer.ir.dialects import kernel, spec
from metainfer.ir.symbols import all_of
from metainfer.ir.text import place_of
from metainfer.knowledge.base import Knowledge
from metainfer.knowledge.contracts import Failure as Known
from metainfer.knowledge.scope import names
from metainfer.verify.verdict import Failure

Detector = Callable[[Known, ModuleOp | Operation, Failure | None], bool]


def _attribute(known: Known, op: ModuleOp | Operation, failure: Failure | None) -> bool:
    """An op whose `attribute` is there and is not `value`."""
    found = op.properties.get(str(known.arguments["attribute"]))
    return isinstance(found, StringAttr) and found.data != known.arguments["value"]


def _absent(known: Known, op: ModuleOp | Operation, failure: Failure | None) -> bool:
    """A module in which no op of `applies` has `attribute`."""
    ops = [inner for inner in op.walk() if names(known.box(), "op", inner.name)]
    return bool(ops) and not any(known.arguments["attribute"] in o.properties for o in ops)


def _stage(known: Known, op: ModuleOp | Operation, failure: Failure | None) -> bool:
    """A counter-example at one of `stages` of a kernel."""
    return failure is not None and failure.stage in known.arguments["stages"]


IN_OPS: Mapping[str, Detector] = {"attribute": _attribute}
IN_MODULES: Mapping[str, Detector] = {"absent": _absent}
IN_RECORDS: Mapping[str, Detector] = {"stage": _stage}
DETECTORS = {**IN_OPS, **IN_MODULES, **IN_RECORDS}


def faults(module: ModuleOp, knowledge: Knowledge) -> Iterator[Diagnostic]:
    """A warning for each fault of a `failure` contract that a module shows."""
    arch = _arch(module)
    for known in knowledge.all("failure", Known):
        if "arch" in known.box() and not names(known.box(), "arch", arch):
            continue
        if found := _first(known, module):
            notes = (Note(f"{known.id}: {known.cause}"),)
            yield Diagnostic(known.symptom, place_of(found), notes, known.fix, "warning")


def _first(known: Known, module: ModuleOp) -> Operation | None:
    """The op that a detector in IR points at."""
    if detect := IN_MODULES.get(known.detector):
        return module if detect(known, module, None) else None
    if detect := IN_OPS.get(known.detector):
        ops = (op for op in module.walk() if names(known.box(), "op", op.name))
        return next((op for op in ops if detect(known, op, None)), None)
    return None


def known_failures(func: kernel.FuncOp, failure: Failure, knowledge: Knowledge) -> list[Known]:
    """The contracts whose fault a counter-example of a kernel looks like."""
    ops = [op.name for op in func.semantics.block.ops]
    return [
        known
        for known in knowledge.all("failure", Known)
        if any(names(known.box(), "op", op) for op in ops)
        and (detect := IN_RECORDS.get(known.detector)) is not None
        and detect(known, func, failure)
    ]


def _arch(module: ModuleOp) -> str:
    for engine in all_of(module, spec.EngineOp):
        for op in engine.body.block.ops:
            if isinstance(op, spec.ModelOp) and op.arch is not None:
                return op.arch.data
    return ""
