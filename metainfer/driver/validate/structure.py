"""What interpreting twins cannot show, since it runs few layers and few tokens: that none is lost.

Both modules are looked at as they are, at full size.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from metainfer.driver.validate.calls import Runnable
from metainfer.driver.validate.program import entries
from metainfer.ir.diagnostics import Diagnostic
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.dims import RangesAttr
from metainfer.ir.symbols import all_of, lookup
from metainfer.ir.text import place_of
from metainfer.passes.fuse import base_name

Box = tuple[tuple[str, tuple[int, int]], ...]


def findings(
    left: ModuleOp, right: ModuleOp, pairs: list[tuple[Runnable, Runnable]]
) -> Iterator[Diagnostic]:
    """Layers, sizes of steps and calls that `right` serves and `left` does not, or the reverse."""
    for mine, other in pairs:
        if _layers(mine) != _layers(other):
            name = other.sym_name.data
            yield Diagnostic(f"@{name} runs other layers than before the pass", place_of(other))
    yield from _steps(left, right)
    for function in all_of(right, func.FuncOp):
        yield from _narrow_calls(function, right)
    if any(isinstance(op, engine.ProgramOp) for op in right.ops):
        for entry in entries(right).values():
            yield from _narrow_calls(entry, right)


def _layers(code: Runnable) -> list[tuple[str, int]]:
    """Every layer that a forward function or an entry runs, and of which kind it is."""
    found = []
    for op in code.walk():
        if isinstance(op, infer.LayersOp | engine.LayersOp):
            for name, first, last in op.schedule.steps():
                found += [(_kind(name), layer) for layer in range(first, last + 1)]
    return found


def _kind(name: str) -> str:
    """`layer_local` of `decode_layer_local`."""
    return name[max(name.rfind("layer"), 0) :]


def _steps(left: ModuleOp, right: ModuleOp) -> Iterator[Diagnostic]:
    before, after = _tokens(left), _tokens(right)
    if before and after and before != after:
        yield Diagnostic(
            f"steps of {_text(before)} tokens were served, now those of {_text(after)}"
        )


def _text(runs: list[int]) -> str:
    return f"{runs[0]} to {runs[-1]}" if runs == list(range(runs[0], runs[-1] + 1)) else str(runs)


def _tokens(module: ModuleOp) -> list[int]:
    """Every number of tokens that some forward function or entry takes, ascending; twice if two."""
    whole: list[Runnable] = [f for f in all_of(module, func.FuncOp) if base_name(f) == "forward"]
    boxes = [_ranges(code) for code in (*whole, *entries(module).values())]
    return sorted(
        n for b in boxes if "tokens" in b for n in range(b["tokens"][0], b["tokens"][1] + 1)
    )


def _ranges(code: Runnable | kernel.FuncOp) -> dict[str, tuple[int, int]]:
    dims = code.properties.get("dims") or code.attributes.get("dims")
    return dims.as_dict() if isinstance(dims, RangesAttr) else {}


def _narrow_calls(code: Runnable, module: ModuleOp) -> Iterator[Diagnostic]:
    """Calls of kernels that are not made for all sizes of their caller."""
    wanted = _ranges(code)
    for op in _calls(code, module):
        callee = lookup(module, op.callee.root_reference.data, kernel.FuncOp)
        served = _ranges(callee)
        for name, (first, last) in wanted.items():
            if name not in served or not served[name][0] <= first <= last <= served[name][1]:
                yield Diagnostic(
                    f"@{callee.sym_name.data} is called for {name} {first} to {last}, "
                    f"which it is not made for",
                    place_of(op),
                )


def _calls(code: Runnable, module: ModuleOp) -> Iterator[kernel.CallOp | engine.CallOp]:
    for op in code.walk():
        if isinstance(op, kernel.CallOp | engine.CallOp):
            yield op
        if isinstance(op, engine.LayersOp):
            program = code.parent_op()
            assert isinstance(program, engine.ProgramOp)
            names = {name for name, _, _ in op.schedule.steps()}
            for block in program.body.block.ops:
                if isinstance(block, engine.BlockOp) and block.sym_name.data in names:
                    yield from _calls_of(block)


def _calls_of(block: engine.BlockOp) -> Iterator[engine.CallOp]:
    yield from (op for op in block.body.block.ops if isinstance(op, engine.CallOp))
