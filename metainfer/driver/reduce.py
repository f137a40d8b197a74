"""Shrinks a module that fails, as long as it still fails the same way: `metainfer-opt --reduce`.

Delta debugging over ops: half of them are taken away, then quarters, and so on down to single ones,
until nothing more can go. An op that goes leaves its results' users another value of the type: one
of its operands, an earlier value, or else a new argument of the function. So every candidate is IR
that can be printed and parsed, though not always sound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove, IsTerminator

from metainfer.driver.bisect import Checks, Failure, failure_of
from metainfer.ir.diagnostics import DiagnosticError, error
from metainfer.ir.text import parse_module, print_module
from metainfer.passes.context import CompilerContext
from metainfer.passes.instruments.statistics import count_ops

Interesting = Callable[[ModuleOp], bool]
"""Whether a module still shows what is looked for; it must leave the module as it is."""


@dataclass(frozen=True)
class Reduced:
    """The smallest module found, and the passes that fail on it."""

    module: ModuleOp
    passes: tuple[ModulePass, ...]
    failure: Failure
    ops_before: int
    ops_after: int
    tries: int


def reduce_failure(
    ctx: CompilerContext, module: ModuleOp, passes: Sequence[ModulePass], checks: Checks
) -> Reduced:
    """The smallest module found on which the run fails like on `module`.

    Starts right before the failing pass where that alone fails as well. Raises DiagnosticError if
    nothing fails.
    """
    failure = failure_of(ctx, module, passes, checks, copies=True)
    if failure is None:
        raise error("nothing to reduce: the passes run and all checks hold")
    wanted, tries = signature(failure), 0

    def fails_alike(candidate: ModuleOp, run: Sequence[ModulePass]) -> bool:
        nonlocal tries
        tries += 1
        found = failure_of(ctx, candidate, run, checks)
        return found is not None and signature(found) == wanted

    start, run = module, tuple(passes)
    if failure.step is not None and failure.before is not None:
        alone = (failure.step.one,)
        if fails_alike(failure.before, alone):
            start, run = failure.before, alone
    smallest = reduce_module(start, lambda candidate: fails_alike(candidate, run))
    return Reduced(smallest, run, failure, count_ops(module), count_ops(smallest), tries)


def signature(failure: Failure) -> tuple[str, str, str]:
    """What two failures of one cause have in common: pass, kind, message without its names."""
    problem = failure.problem
    message = str(problem)
    if isinstance(problem, DiagnosticError):
        message = problem.diagnostics[0].message
    return failure.name, type(problem).__name__, _NAMES.sub("_", message.split("\n", 1)[0])


_NAMES = re.compile(
    r'[%@][\w.$-]+|"[^"]*"|(?:tensor|vector)<[^ ]*|!\w[\w.]*<[^>]*>|-?\d[\d.e+-]*|\b(?:nan|inf)\b'
)


def reduce_module(module: ModuleOp, interesting: Interesting) -> ModuleOp:
    """A module that is still interesting and from which no single op can go: a fixed point."""
    best = module.clone()
    while True:
        before = best
        for shrink in (_without_ops, _cut_results, _cut_arguments):
            best = shrink(best, interesting)
        if best is before:
            earlier = _return_earlier(best, interesting)
            if earlier is None:
                return best
            best = earlier


def _without_ops(module: ModuleOp, interesting: Interesting) -> ModuleOp:
    chunk = max(1, len(_removable(module)) // 2)
    while True:
        position, shrunk = 0, False
        while position < (count := len(_removable(module))):
            # From the end: what comes late has fewer users.
            end = count - position
            candidate = module.clone()
            removed = _remove(_removable(candidate)[max(0, end - chunk) : end])
            if removed and interesting(candidate):
                module, shrunk = candidate, True
                position += chunk - removed if removed < chunk else 0
            else:
                position += chunk
        if chunk == 1 and not shrunk:
            return module
        chunk = max(1, chunk // 2)


def _removable(module: ModuleOp) -> list[Operation]:
    """Every op but the module and the terminators, which give blocks their form."""
    return [op for op in module.walk() if op is not module and not op.has_trait(IsTerminator)]


def _remove(ops: Sequence[Operation]) -> int:
    """Take ops out, last first, and count those that could go."""
    gone = 0
    doomed = set(ops)
    for op in reversed(ops):
        if op.parent is None or not _release(op, doomed):
            continue
        op.detach()
        op.erase(safe_erase=False)
        gone += 1
    return gone


def _release(op: Operation, doomed: set[Operation]) -> bool:
    """Give the users of an op's results other values; False if there are none for some result."""
    for result in op.results:
        if not list(result.uses):
            continue
        substitute = _substitute(op, result, doomed)
        if substitute is None:
            return False
        result.replace_all_uses_with(substitute)
    return True


def _substitute(op: Operation, result: OpResult, doomed: set[Operation]) -> SSAValue | None:
    values = (v for v in _earlier(op, doomed) if v.type == result.type)
    return next(values, None) or _new_argument(op, result.type)


def _earlier(op: Operation, doomed: set[Operation]) -> Iterator[SSAValue]:
    """Values that `op` could use: its operands first, then others from near to far."""
    yield from op.operands
    while (block := op.parent_block()) is not None:
        yield from block.args
        before = op.prev_op
        while before is not None:
            if before not in doomed:
                yield from before.results
            before = before.prev_op
        above = block.parent_op()
        if above is None or above.has_trait(IsolatedFromAbove):
            return
        op = above


def _new_argument(op: Operation, type_: Attribute) -> BlockArgument | None:
    """A new last argument of the function around `op`; None outside of functions."""
    above: Operation | None = op
    while above is not None and not isinstance(above, func.FuncOp):
        if above.has_trait(IsolatedFromAbove):
            return None
        above = above.parent_op()
    if above is None:
        return None
    block = above.body.block
    argument = block.insert_arg(type_, len(block.args))
    argument.location = above.location
    _sign(above)
    return argument


def _sign(function: func.FuncOp) -> None:
    """Let a function's type say what its block takes and returns."""
    block = function.body.block
    results = _returned(block)
    function.properties["function_type"] = FunctionType.from_lists(
        list(block.arg_types), [value.type for value in results]
    )


def _returned(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return tuple(last.operands) if isinstance(last, func.ReturnOp) else ()


def _cut_results(module: ModuleOp, interesting: Interesting) -> ModuleOp:
    """Let functions return less, so that what only made those results can go too."""
    for number, function in enumerate(_functions(module)):
        for position in reversed(range(len(_returned(function.body.block)))):
            candidate = module.clone()
            changed = _functions(candidate)[number]
            last = changed.body.block.last_op
            assert last is not None
            last.operands = [v for n, v in enumerate(last.operands) if n != position]
            _sign(changed)
            if interesting(candidate):
                module = candidate
    return module


def _return_earlier(module: ModuleOp, interesting: Interesting) -> ModuleOp | None:
    """A smaller module in which a function returns one of its inner values; None if there is none.

    What a check sees in a result it often sees in a value that the result is made from.
    """
    for number, function in enumerate(_functions(module)):
        values = [r for op in function.body.block.ops for r in op.results]
        for position in range(len(values)):
            candidate = module.clone()
            changed = _functions(candidate)[number]
            last = changed.body.block.last_op
            assert last is not None
            value = [r for op in changed.body.block.ops for r in op.results][position]
            if list(last.operands) == [value]:
                continue
            last.operands = [value]
            _sign(changed)
            if interesting(candidate):
                smaller = _without_ops(candidate, interesting)
                if count_ops(smaller) < count_ops(module):
                    return smaller
    return None


def _cut_arguments(module: ModuleOp, interesting: Interesting) -> ModuleOp:
    """Let functions take only what they use."""
    for number, function in enumerate(_functions(module)):
        for position in reversed(range(len(function.body.block.args))):
            candidate = module.clone()
            changed = _functions(candidate)[number]
            argument = changed.body.block.args[position]
            if argument.uses:
                continue
            changed.body.block.erase_arg(argument)
            _sign(changed)
            if interesting(candidate):
                module = candidate
    return module


def _functions(module: ModuleOp) -> list[func.FuncOp]:
    return [f for f in module.ops if isinstance(f, func.FuncOp) and f.body.blocks]


def failing_text(ctx: CompilerContext, found: Reduced, checks: Checks) -> str:
    """Text of the reduced module that, once parsed, fails like it: the plainest such form."""
    for generic, locations in ((False, False), (False, True), (True, True)):
        text = print_module(found.module, generic=generic, locations=locations)
        try:
            back = parse_module(text, "reduced.mlir", ctx)
        except DiagnosticError:
            continue
        failure = failure_of(ctx, back, found.passes, checks)
        if failure is not None and signature(failure) == signature(found.failure):
            return text
    raise error("the reduced module fails only as long as it is not printed and parsed")
