"""Which constraints cannot hold together, found before anything is built.

Each diagnostic is a minimal conflicting set: without any one member, the others could hold. Its
place is the constraint that the user is most likely to change; the other members are notes with
their own lines and arithmetic; the help is the nearest change that is feasible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.diagnostics import Diagnostic, Note, Place
from metainfer.ir.dialects import spec
from metainfer.knowledge.base import Knowledge
from metainfer.passes.kept import Facts, Kept, facts_of, value_bytes
from metainfer.spec.view import SpecView, place_of

KV_CHOICES = ("f32", "f16")
"""Dtypes that a KV cache can have today; a help names no other."""
GROUPS = (32, 64, 128, 256)
"""Quantisation groups in use; a help names no other."""

_COMPARE = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}


def infeasibilities(module: ModuleOp, knowledge: Knowledge | None = None) -> list[Diagnostic]:
    """Every independent conflict in a resolved module, in the order of the source.

    `knowledge` says which layers of the family keep no more than a window; without it, none does.
    Raises `DiagnosticError` where `resolve-model` has not filled in the facts of the model.
    """
    view = SpecView(module)
    facts = facts_of(view, knowledge)
    checks = (_expectations, _context, _parts, _loads, _kv_budgets, _tensor, _group)
    found = [problem for check in checks for problem in check(view, facts)]
    return sorted(found, key=lambda problem: problem.place or Place("", 0, 0))


# === The model is another than expected ===


def _expectations(view: SpecView, facts: Facts) -> Iterator[Diagnostic]:
    arch = view.model.arch
    known: dict[str, str | int] = {**facts.numbers, "arch": arch.data if arch else ""}
    for op in view.all(spec.ExpectOp):
        actual = known.get(op.what, "unknown")
        if type(actual) is type(op.value) and _COMPARE[op.operator](actual, op.value):
            continue
        note = Note(f"{op.what} {actual} in {view.model.uri.data}", place_of(view.model))
        yield Diagnostic(
            f"the model has {op.what} {actual}, not {op.what} {op.operator} {op.value}",
            place_of(op),
            (note,),
            f"expect {op.what} == {actual}, or name another model",
        )


# === The workload is more than the model or a budget can take ===


def _context(view: SpecView, facts: Facts) -> Iterator[Diagnostic]:
    if view.max_context <= facts["max_context"]:
        return
    most = facts["max_context"]
    yield Diagnostic(
        f"context {view.max_context} is more than the {most} positions of the model",
        place_of(view.context_op),
        (Note(f"max_context {most} in {view.model.uri.data}", place_of(view.model)),),
        f"nearest feasible: context <= {most} tokens",
    )


def _parts(view: SpecView, facts: Facts) -> Iterator[Diagnostic]:
    """A prompt and what is generated for it share the context."""
    bounds = {op.what: op for op in view.all(spec.DemandOp) if op.operator == "<="}
    parts = [bounds[what] for what in ("prompt", "output") if what in bounds]
    if sum(op.amount for op in parts) <= view.max_context:
        return
    notes = [Note(f"{op.what} {op.amount}", place_of(op)) for op in parts[1:]]
    notes.append(Note(f"context {view.max_context}", place_of(view.context_op)))
    total = " + ".join(f"{op.what} {op.amount}" for op in parts)
    yield Diagnostic(
        f"{total} tokens are more than context {view.max_context}",
        place_of(parts[0]),
        tuple(notes),
        f"nearest feasible: context <= {sum(op.amount for op in parts)} tokens",
    )


def _loads(view: SpecView, facts: Facts) -> Iterator[Diagnostic]:
    """A promise at a load that the engine does not serve cannot be kept."""
    limits = {"context": view.max_context, "prompt": view.max_context, "output": view.max_context}
    limits |= {"batch": view.max_batch}
    for op in [*view.all(spec.RequireOp), *view.all(spec.WantOp)]:
        for what, count in op.load.items():
            if count <= limits.get(what, count):
                continue
            bound = view.batch_op if what == "batch" else view.context_op
            name = "batch" if what == "batch" else "context"
            notes = (Note(f"{name} {limits[what]}", place_of(bound)),) if bound else ()
            yield Diagnostic(
                f"{op.what} is asked for at {what} {count}, which is beyond {name} {limits[what]}",
                place_of(op),
                notes,
                f"nearest feasible: @ {what} {limits[what]}",
            )


def _kv_budgets(view: SpecView, facts: Facts) -> Iterator[Diagnostic]:
    kept = Kept(view, facts)
    for op in view.all(spec.RequireOp):
        if op.what == "kv" and kept.bytes() > op.amount:
            yield _kv_conflict(view, kept, op)


def _kv_conflict(view: SpecView, kept: Kept, budget: spec.RequireOp) -> Diagnostic:
    pin = view.pin("kv")
    fitting = [d for d in KV_CHOICES if kept.bytes(dtype=d) <= budget.amount]
    notes = [Note(kept.arithmetic(), place_of(view.context_op))]
    if view.max_batch > 1 and view.batch_op:
        notes.append(Note(f"batch {view.max_batch}", place_of(view.batch_op)))
    if pin and fitting:
        notes.append(Note(f"kv {pin.value} takes {value_bytes(pin.value)}", place_of(pin)))
    context = kept.largest_context(budget.amount)
    options = [f"context <= {context} tokens"] if context else []
    options += [f"kv {dtype}" for dtype in fitting]
    options += [] if options else [f"kv <= {kept.bytes()} B"]
    return Diagnostic(
        "these constraints cannot hold together",
        place_of(budget),
        tuple(notes),
        f"nearest feasible: {' or '.join(options)}",
    )


# === A number divides nothing ===


def _tensor(view: SpecView, facts: Facts) -> Iterator[Diagnostic]:
    """Ranks share query heads, KV heads and the rows of the feed-forward evenly."""
    pin, tensor = view.pin("tensor"), view.count("tensor")
    if pin is None or tensor is None:
        return
    shared = {
        f"{facts['q_heads']} query heads": facts["q_heads"],
        f"{facts['kv_heads']} KV heads": facts["kv_heads"],
        f"ffn_dim {facts['ffn_dim']}": facts["ffn_dim"],
    }
    broken = [name for name, count in shared.items() if count % tensor]
    if broken:
        fitting = _divisors(math.gcd(*shared.values()))
        yield Diagnostic(
            f"tensor {tensor} does not divide {' / '.join(broken)}",
            place_of(pin),
            help=f"tensor {_either(fitting)}",
        )


def _group(view: SpecView, facts: Facts) -> Iterator[Diagnostic]:
    """A group lies within a row, so it divides the width of every weight."""
    pin, group = view.pin("weights.group"), view.count("weights.group")
    if pin is None or group is None:
        return
    widths = {facts["q_heads"] * facts["head_dim"]: "q_heads × head_dim"}
    widths |= {facts["ffn_dim"]: "ffn_dim", facts["hidden"]: "hidden"}
    broken = [width for width in widths if width % group]
    if not broken:
        return
    notes = [
        Note(f"{widths[width]} {width} = {width / group:g} × {group}", place_of(view.model))
        for width in broken
    ]
    fitting = [size for size in GROUPS if all(width % size == 0 for width in widths)]
    yield Diagnostic(
        f"group {group} does not divide {' / '.join(f'width {width}' for width in broken)}",
        place_of(pin),
        tuple(notes),
        f"group {_either(fitting)}" if fitting else f"no group of {_either(GROUPS)} fits",
    )


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def _either(numbers: Iterable[int]) -> str:
    *most, last = map(str, numbers)
    return f"{', '.join(most)} or {last}" if most else last
