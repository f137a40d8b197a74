"""Which cases a kernel is run on: sizes, positions, families of values.

All of it follows from the kernel's own ranges and ops. Small sizes go through every way of
sharing the work; the largest are there for their bounds and run in few ways.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation

from metainfer.ir.dialects import infer, kernel
from metainfer.ir.dims import sizes
from metainfer.ir.symbols import all_of
from metainfer.verify.families import GENERAL
from metainfer.verify.weights import Kind

FREE_POSITIONS = 1 << 17
"""Positions that a rope is tried up to when no state of the module limits them."""
FULL_SIZE = 17
"""Largest size at which parts are run one by one."""
MEDIUM_SIZE = 64
"""Largest size that is tried at several positions; attention costs the product of both."""
LARGE_WEIGHT = 1 << 22
"""Values from which a weight is run in few cases."""
STATE_ENDS = (1, 2, 15, 16, 17, 63, 64, 65)
"""Positions held after the step that are tried: around the blocks of state layouts."""
ROPE_ENDS = (1, 2, 41, 1001, 8001)
_EXACT_OPS = (infer.LinearOp, infer.EmbedOp, infer.AddOp, infer.SelectLastOp, infer.StateAppendOp)


@dataclass(frozen=True)
class Facts:
    """What decides which cases matter for a kernel."""

    ranges: Mapping[str, tuple[int, int]]
    context: int
    edges: tuple[int, ...]
    """Positions held after the step at which a window or a ring begins to matter."""
    state: bool
    rope: bool
    exact: bool
    """Whether some op is exact where all values are small integers."""
    large: bool

    @staticmethod
    def of(func: kernel.FuncOp, module: ModuleOp) -> Facts:
        ops = semantics(func)
        states = [s for s in _states(func, module) if s.context is not None]
        contexts = [s.context.value.data for s in states if s.context is not None]
        inputs = func.function_type.inputs
        weights = [sizes(t) for t in inputs if isinstance(t, TensorType) and matrix_sizes(t)]
        return Facts(
            ranges=func.dims.as_dict(),
            context=max(contexts, default=FREE_POSITIONS),
            edges=tuple(e for s in states for e in _edges(s)),
            state=any(isinstance(t, infer.StateType) for t in inputs),
            rope=any(isinstance(op, infer.RopeOp) for op in ops),
            exact=any(isinstance(op, _EXACT_OPS) for op in ops),
            large=sum(int(r) * int(c) for r, c in weights) >= LARGE_WEIGHT,
        )


def _states(func: kernel.FuncOp, module: ModuleOp) -> list[infer.StateOp]:
    """The states that the kernel is given; all of the module for one that is given none."""
    types = [t for t in func.function_type.inputs if isinstance(t, infer.StateType)]
    names = {t.state.root_reference.data for t in types}
    known = all_of(module, infer.StateOp)
    return [s for s in known if s.sym_name.data in names] if names else list(known)


def _edges(state: infer.StateOp) -> list[int]:
    if state.window is None:
        return []
    window, room = state.window.value.data, state.slots()
    near = [n for end in (window, room) for n in (end - 1, end, end + 1)]
    return [*near, window + 17, 2 * room + 5]


@dataclass(frozen=True)
class Case:
    """One set of inputs; row i of every f32 input is of family `families[i % len]`."""

    number: int
    dims: Mapping[str, int]
    start: int
    """Position of the first token."""
    families: tuple[str, ...]
    weights: Kind
    history: str
    """What earlier keys look like: `normal`, `equal` (uniform attention) or `spike`."""
    full: bool

    @property
    def exact(self) -> bool:
        return self.weights == "exact"


HISTORIES = ("normal", "equal", "spike")


def semantics(func: kernel.FuncOp) -> list[Operation]:
    """The ops of a kernel's meaning."""
    return [op for op in func.semantics.block.ops if not isinstance(op, kernel.ReturnOp)]


def matrix_sizes(type_: TensorType) -> tuple[int, int] | None:
    """(rows, cols) of a weight matrix, whose sizes are all static; None for any other tensor."""
    dims = sizes(type_)
    if len(dims) == 2 and isinstance(dims[0], int) and isinstance(dims[1], int):
        return dims[0], dims[1]
    return None


def plan_cases(facts: Facts) -> list[Case]:
    """All cases, small ones first."""
    shapes = _shapes(facts.ranges)
    pairs = sorted(_with_positions(shapes, facts), key=lambda p: max(p[0].values(), default=1))
    cases: list[Case] = []
    seen: list[Mapping[str, int]] = []
    turn = 0
    for dims, start in pairs:
        cases.append(_case(len(cases), dims, start, turn, dims not in seen, facts))
        seen.append(dims)
        turn += max(dims.values(), default=1)
    small = [p for p in pairs if max(p[0].values(), default=1) <= FULL_SIZE] or pairs[:1]
    while turn < len(GENERAL):
        dims, start = small[-1]
        cases.append(_case(len(cases), dims, start, turn, False, facts))
        turn += max(dims.values(), default=1)
    if facts.exact:
        dims, start = small[-1]
        full = not facts.large
        cases.append(Case(len(cases), dims, start, ("exact",), "exact", HISTORIES[0], full))
    return cases


def _case(
    number: int, dims: Mapping[str, int], start: int, turn: int, new: bool, facts: Facts
) -> Case:
    first = turn % len(GENERAL)
    small = max(dims.values(), default=1) <= FULL_SIZE
    full = new and small and not (facts.large and number)
    return Case(
        number,
        dims,
        start,
        GENERAL[first:] + GENERAL[:first],
        "random",
        HISTORIES[number % len(HISTORIES)],
        full,
    )


def boundary_sizes(first: int, last: int) -> list[int]:
    """Sizes inside `[first, last]` where loops and tiles begin, end or have a rest."""
    wanted = {1, 2, 3, 4, 5, 16, 17, first, first + 1, last - 1, last, _prime_up_to(min(last, 64))}
    return sorted(n for n in wanted if first <= n <= last)


def _prime_up_to(n: int) -> int:
    return next((p for p in range(n, 1, -1) if all(p % d for d in range(2, p))), 1)


def _shapes(ranges: Mapping[str, tuple[int, int]]) -> list[dict[str, int]]:
    """Sizes of all dimensions together; sequences never outnumber tokens."""
    choices = {name: boundary_sizes(*bounds) for name, bounds in ranges.items()}
    count = max((len(c) for c in choices.values()), default=1)
    shapes = [
        {name: sizes_[min(i, len(sizes_) - 1)] for name, sizes_ in choices.items()}
        for i in range(count)
    ]
    for shape in shapes:
        if "tokens" in shape and "seqs" in shape:
            shape["tokens"] = max(shape["tokens"], shape["seqs"])
    return shapes


def _with_positions(
    shapes: Sequence[Mapping[str, int]], facts: Facts
) -> list[tuple[Mapping[str, int], int]]:
    """Each shape with a first position; each interesting position with some shape."""
    if not facts.state and not facts.rope:
        return [(shape, 0) for shape in shapes]
    last = facts.context
    shapes = [s for s in shapes if s.get("tokens", 1) <= last]
    pairs = [(shape, 0) for shape in shapes]
    ends = (*STATE_ENDS, *facts.edges) if facts.state else ROPE_ENDS
    for number, end in enumerate(e for e in (*ends, last - 1) if 1 <= e < last):
        fitting = [s for s in shapes if s.get("tokens", 1) <= min(end, MEDIUM_SIZE)]
        if fitting:
            shape = fitting[number % len(fitting)]
            pairs.append((shape, end - shape.get("tokens", 1)))
    pairs += [(s, last - s.get("tokens", 1)) for s in shapes[-1:]]
    return list({(tuple(s.items()), p): (s, p) for s, p in pairs}.values())
