"""What a `spec.engine` asks for, as plain values for the passes that read it."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FusedLoc, ModuleOp
from xdsl.ir import Operation

from metainfer.ir import text
from metainfer.ir.diagnostics import Diagnostic, DiagnosticError, Place, error
from metainfer.ir.dialects import spec

_Constraint = TypeVar("_Constraint", bound=spec.ConstraintOp)


def place_of(op: Operation) -> Place | None:
    """Where `op` is written, as a stretch if the frontend placed it; None without a file."""
    match op.location:
        case FusedLoc(
            locations=ArrayAttr(data=(FileLineColLoc() as first, FileLineColLoc() as last))
        ) if (first.filename, first.line) == (last.filename, last.line):
            length = last.column.data - first.column.data + 1
            place = (first.filename.data, first.line.data, first.column.data)
            return Place(*place, max(1, length))
    return text.place_of(op)


class SpecView:
    """Reads the one engine of a module. Absent constraints have the values given below.

    Raises `DiagnosticError` where the module has no engine, or the engine lacks a model or a
    context bound; the message names what to add.
    """

    def __init__(self, module: ModuleOp) -> None:
        engines = [op for op in module.ops if isinstance(op, spec.EngineOp)]
        if len(engines) != 1:
            raise error(f"expected one 'spec.engine' in the module, found {len(engines)}")
        self.engine_op: spec.EngineOp = engines[0]
        self.name: str = self.engine_op.engine_name
        models = self.all(spec.ModelOp)
        contexts = [op for op in self.all(spec.DemandOp) if _bounds(op, "context")]
        missing = [_lacks(self.engine_op, "a model", 'model "pypi:NAME/FILE.gguf"')] * (not models)
        missing += [_lacks(self.engine_op, "a context bound", _CONTEXT)] * (not contexts)
        if missing:
            raise DiagnosticError(*missing)
        self.model: spec.ModelOp = models[0]
        self.context_op: spec.DemandOp = contexts[0]

    def all(self, kind: type[_Constraint]) -> list[_Constraint]:
        """The engine's ops of one kind, in order."""
        return [op for op in self.engine_op.body.block.ops if isinstance(op, kind)]

    @property
    def device(self) -> str:
        """Class of device; `cpu` unless a target is given."""
        targets = self.all(spec.TargetOp)
        return targets[0].device if targets else "cpu"

    @property
    def isa(self) -> str:
        """`auto` leaves the choice to the planner."""
        pin = self.pin("isa")
        return pin.value if pin else "auto"

    @property
    def threads(self) -> int | None:
        """Pinned number of threads, or None."""
        return self.count("threads")

    @property
    def max_context(self) -> int:
        """Most tokens of a sequence, prompt and generated ones together."""
        return self.context_op.amount

    @property
    def batch_op(self) -> spec.DemandOp | None:
        """The bound on sequences at once, if one is stated."""
        return next((op for op in self.all(spec.DemandOp) if _bounds(op, "batch")), None)

    @property
    def max_batch(self) -> int:
        """Most sequences at once; 1 unless stated."""
        return self.batch_op.amount if self.batch_op else 1

    @property
    def features(self) -> frozenset[str]:
        """What is asked for, as `section.word`: `sampling.greedy`."""
        return frozenset(op.feature for op in self.all(spec.FeatureOp))

    def pin(self, what: str) -> spec.PinOp | None:
        """The user's decision on `what`: `weights`, `acts`, `kv`, `tensor`, `threads`, `isa`, ...

        None where the planner chooses, which is also what the value `auto` asks for.
        """
        pins = [op for op in self.all(spec.PinOp) if op.what == what and op.value != "auto"]
        return pins[0] if pins else None

    def count(self, what: str) -> int | None:
        """A pin's value as a number from 1 on: `tensor`, `threads`, `weights.group`."""
        pin = self.pin(what)
        if pin is None:
            return None
        if not pin.value.isdecimal() or int(pin.value) < 1:
            raise error(f"{what} takes a number from 1 on, not '{pin.value}'", place_of(pin))
        return int(pin.value)


_CONTEXT = "workload { context <= 2048 tokens }"


def _bounds(op: spec.DemandOp, what: str) -> bool:
    return op.what == what and op.operator == "<="


def _lacks(engine: spec.EngineOp, what: str, line: str) -> Diagnostic:
    name = engine.engine_name
    return Diagnostic(f"engine '{name}' needs {what}", place_of(engine), help=f"add: {line}")
