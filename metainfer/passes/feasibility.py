"""Which constraints cannot hold together, found before anything is built.

Each diagnostic is a minimal conflicting set: without any one member, the others could hold. Its
place is the constraint that the user is most likely to change; the other members are notes with
their own lines and arithmetic; the help is the nearest change that is feasible.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from metainfer.ir.diagnostics import Diagnostic, Note, Place, error
from metainfer.ir.dialects import spec
from metainfer.spec.view import SpecView, place_of

DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "int8": 1}
_DTYPES = ", ".join(DTYPE_BYTES)
DEFAULT_KV = "f32"
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


def infeasibilities(module: ModuleOp) -> list[Diagnostic]:
    """Every independent conflict in a resolved module, in the order of the source.

    Raises `DiagnosticError` where `resolve-model` has not filled in the facts of the model.
    """
    view = SpecView(module)
    facts = _facts(view)
    checks = (_expectations, _context, _kv_budgets, _tensor, _group)
    found = [problem for check in checks for problem in check(view, facts)]
    return sorted(found, key=lambda problem: problem.place or Place("", 0, 0))


def _facts(view: SpecView) -> dict[str, int]:
    model = view.model
    if model.hparams is None or model.arch is None:
        raise error("needs: run resolve-model first", place_of(model))
    values = model.hparams.data.items()
    return {name: value.value.data for name, value in values if isinstance(value, IntegerAttr)}


# === The model is another than expected ===


def _expectations(view: SpecView, facts: dict[str, int]) -> Iterator[Diagnostic]:
    arch = view.model.arch
    known: dict[str, str | int] = {**facts, "arch": arch.data if arch else ""}
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


def _context(view: SpecView, facts: dict[str, int]) -> Iterator[Diagnostic]:
    if view.max_context <= facts["max_context"]:
        return
    most = facts["max_context"]
    yield Diagnostic(
        f"context {view.max_context} is more than the {most} positions of the model",
        place_of(view.context_op),
        (Note(f"max_context {most} in {view.model.uri.data}", place_of(view.model)),),
        f"nearest feasible: context <= {most} tokens",
    )


def _kv_budgets(view: SpecView, facts: dict[str, int]) -> Iterator[Diagnostic]:
    for op in view.all(spec.RequireOp):
        if op.what == "kv" and op.operator == "<=" and _kv_bytes(view, facts) > op.amount:
            yield _kv_conflict(view, facts, op)


def _kv_conflict(view: SpecView, facts: dict[str, int], budget: spec.RequireOp) -> Diagnostic:
    pin = view.pin("kv")
    fitting = [d for d in KV_CHOICES if _kv_bytes(view, facts, d) <= budget.amount]
    notes = [Note(_kv_arithmetic(view, facts), place_of(view.context_op))]
    if view.max_batch > 1 and view.batch_op:
        notes.append(Note(f"batch {view.max_batch}", place_of(view.batch_op)))
    if pin and fitting:
        notes.append(Note(f"kv {pin.value} takes {_value_bytes(pin.value)}", place_of(pin)))
    return Diagnostic(
        "these constraints cannot hold together",
        place_of(budget),
        tuple(notes),
        _kv_help(view, facts, budget, fitting),
    )


def _kv_help(
    view: SpecView, facts: dict[str, int], budget: spec.RequireOp, fitting: list[str]
) -> str:
    token = _token_bytes(facts, _kv_dtype(view))
    context = budget.amount // (token * view.max_batch)
    options = [f"context <= {context} tokens"] if context else []
    options += [f"kv {dtype}" for dtype in fitting]
    options += [] if options else [f"kv <= {_kv_bytes(view, facts)} B"]
    return f"nearest feasible: {' or '.join(options)}"


def _kv_arithmetic(view: SpecView, facts: dict[str, int]) -> str:
    dtype = _kv_dtype(view)
    batch = f"batch {view.max_batch} × " if view.max_batch > 1 else ""
    heads = f"{facts['layers']} layers, {facts['kv_heads']} KV heads × {facts['head_dim']}"
    return (
        f"context {view.max_context} × {batch}{_token_bytes(facts, dtype):,} B/token "
        f"(kv {dtype}, {heads}) = {_size(_kv_bytes(view, facts))}"
    )


def _kv_dtype(view: SpecView) -> str:
    pin = view.pin("kv")
    if pin and pin.value not in DTYPE_BYTES:
        raise error(f"unknown dtype '{pin.value}'", place_of(pin), help=f"one of {_DTYPES}")
    return pin.value if pin else DEFAULT_KV


def _token_bytes(facts: dict[str, int], dtype: str) -> int:
    """Keys and values of one token in all layers."""
    values = facts["layers"] * facts["kv_heads"] * facts["head_dim"]
    return 2 * values * DTYPE_BYTES[dtype]


def _kv_bytes(view: SpecView, facts: dict[str, int], dtype: str | None = None) -> int:
    token = _token_bytes(facts, dtype or _kv_dtype(view))
    return view.max_context * view.max_batch * token


def _value_bytes(dtype: str) -> str:
    count = DTYPE_BYTES[dtype]
    return f"{count} bytes a value" if count > 1 else "1 byte a value"


def _size(count: int) -> str:
    for unit in ("GiB", "MiB", "KiB"):
        if count >= spec.UNITS[unit][1]:
            return f"{count / spec.UNITS[unit][1]:.1f} {unit}"
    return f"{count} B"


# === A number divides nothing ===


def _tensor(view: SpecView, facts: dict[str, int]) -> Iterator[Diagnostic]:
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


def _group(view: SpecView, facts: dict[str, int]) -> Iterator[Diagnostic]:
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
