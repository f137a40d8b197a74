"""The IR gate: what xDSL's verifier leaves open, checked after every pass.

Dominance (xDSL does not check it), symbols, dims of calls, linear use of state, and that each
schedule runs every layer exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from metainfer.ir.diagnostics import Diagnostic, DiagnosticError
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.dims import STATIC, ScheduleAttr, dim_names, verify_dims
from metainfer.ir.symbols import symbol_name, symbols
from metainfer.ir.text import place_of


def verify_module(module: ModuleOp) -> None:
    """Raise DiagnosticError with every finding, or return if the module is sound."""
    if repeated := [*_unique_symbols(module)]:  # xDSL would name the module, not the op
        raise DiagnosticError(*repeated)
    try:
        module.verify()
    except VerifyException as problem:
        raise DiagnosticError(_from_xdsl(module, problem)) from problem
    found = [
        *_dominance(module),
        *_symbol_uses(module),
        *_linear_state(module),
        *_dims(module),
        *_schedules(module),
    ]
    if found:
        raise DiagnosticError(*found)


def _from_xdsl(module: ModuleOp, problem: VerifyException) -> Diagnostic:
    """Find the op whose own verification fails, since the exception does not name it."""
    for op in _inner_first(module):
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as own:
            message = str(own).splitlines()[0]
            return Diagnostic(f"{op.name}: {message}", place_of(op))
    return Diagnostic(str(problem).splitlines()[0])


def _inner_first(module: ModuleOp) -> Iterator[Operation]:
    yield from module.walk(reverse=True)


def _dominance(module: ModuleOp) -> Iterator[Diagnostic]:
    for region in module.regions:
        for block in region.blocks:
            yield from _block_dominance(block, set())


def _block_dominance(block: Block, visible: set[SSAValue]) -> Iterator[Diagnostic]:
    seen = visible | set(block.args)
    for op in block.ops:
        for number, operand in enumerate(op.operands):
            if operand not in seen:
                yield Diagnostic(
                    f"{op.name}: operand {number} is used before it is defined", place_of(op)
                )
        inner: set[SSAValue] = set() if op.has_trait(IsolatedFromAbove) else seen
        for region in op.regions:
            for nested in region.blocks:
                yield from _block_dominance(nested, inner)
        seen |= set(op.results)


def _scopes(module: ModuleOp) -> Iterator[tuple[dict[str, Operation], Operation]]:
    """Each op with the symbols it can see: its program's first, then the module's."""
    outer = symbols(module)
    for top in module.ops:
        scope = dict(outer)
        if isinstance(top, engine.ProgramOp):
            scope |= {n: o for o in top.body.block.ops if (n := symbol_name(o))}
        for op in top.walk():
            yield scope, op


def _unique_symbols(module: ModuleOp) -> Iterator[Diagnostic]:
    tables = [
        module.body.block,
        *(p.body.block for p in module.ops if isinstance(p, engine.ProgramOp)),
    ]
    for block in tables:
        seen: dict[str, Operation] = {}
        for op in block.ops:
            name = symbol_name(op)
            if name is None:
                continue
            if name in seen:
                yield Diagnostic(f"@{name} is defined twice", place_of(op))
            seen[name] = op


_KINDS: dict[type[Operation], tuple[str, type[Operation]]] = {
    infer.WeightRefOp: ("weight", infer.WeightOp),
    kernel.CallOp: ("callee", kernel.FuncOp),
    engine.CallOp: ("callee", kernel.FuncOp),
    kernel.FuncOp: ("path", infer.PathOp),
    infer.StateOp: ("layout", infer.LayoutOp),
    engine.EntryOp: ("logits", engine.BufferOp),
}
"""Symbol uses as properties: op → property and what it must name."""


def _symbol_uses(module: ModuleOp) -> Iterator[Diagnostic]:
    for scope, op in _scopes(module):
        use = _KINDS.get(type(op))
        if use is not None and use[0] in op.properties:
            yield from _one_use(op, scope, op.properties[use[0]], use[1])
        if isinstance(op, engine.CallOp):
            for name in (*op.ins, *op.outs):
                if isinstance(name, SymbolRefAttr):
                    yield from _one_use(op, scope, name, *_PLACES)
        for type_ in dict.fromkeys(_used_types(op)):
            yield from _type_uses(op, scope, type_)
    yield from _types(module)
    yield from _stored(module)


_PLACES = (engine.PackOp, engine.StateOp, engine.BufferOp)


def _used_types(op: Operation) -> Iterator[Attribute]:
    if isinstance(op, infer.WeightOp):
        yield op.type
    arguments = (a for r in op.regions for b in r.blocks for a in b.args)
    for value in (*op.operands, *op.results, *arguments):
        yield value.type


def _type_uses(
    op: Operation, scope: dict[str, Operation], type_: Attribute
) -> Iterator[Diagnostic]:
    """The state of a state value, and the format and layout of a weight."""
    if isinstance(type_, infer.StateType):
        yield from _one_use(op, scope, type_.state, infer.StateOp, engine.StateOp)
    if not isinstance(type_, TensorType):
        return
    if isinstance(type_.element_type, infer.QuantType):
        format_ = SymbolRefAttr(type_.element_type.format)
        yield from _one_use(op, scope, format_, infer.FormatOp)
    if isinstance(type_.encoding, SymbolRefAttr):
        yield from _one_use(op, scope, type_.encoding, infer.LayoutOp)


def _stored(module: ModuleOp) -> Iterator[Diagnostic]:
    """A program's packs and slabs bear the names of the weights and states that they hold."""
    scope = symbols(module)
    for program in module.ops:
        if not isinstance(program, engine.ProgramOp):
            continue
        for op in program.body.block.ops:
            if isinstance(op, engine.PackOp):
                yield from _one_use(op, scope, SymbolRefAttr(op.sym_name), infer.WeightOp)
            if isinstance(op, engine.StateOp):
                yield from _one_use(op, scope, SymbolRefAttr(op.sym_name), infer.StateOp)


def _one_use(
    op: Operation, scope: dict[str, Operation], use: object, *kinds: type[Operation]
) -> Iterator[Diagnostic]:
    assert isinstance(use, SymbolRefAttr)
    name = use.root_reference.data
    target = scope.get(name)
    if target is None:
        yield Diagnostic(f"{op.name}: no symbol @{name}", place_of(op))
    elif not isinstance(target, kinds):
        yield Diagnostic(f"{op.name}: @{name} is {target.name}", place_of(op))


def _types(module: ModuleOp) -> Iterator[Diagnostic]:
    """Weight references have their weight's type; calls match their callee."""
    scope = symbols(module)
    for op in module.walk():
        if isinstance(op, infer.WeightRefOp):
            weight = scope.get(op.weight.root_reference.data)
            if isinstance(weight, infer.WeightOp) and weight.type != op.result.type:
                yield Diagnostic(
                    f"@{symbol_name(weight)} is {weight.type}, not {op.result.type}", place_of(op)
                )
        if isinstance(op, kernel.CallOp):
            callee = scope.get(op.callee.root_reference.data)
            if isinstance(callee, kernel.FuncOp):
                yield from _call(op, callee)


def _call(op: kernel.CallOp, callee: kernel.FuncOp) -> Iterator[Diagnostic]:
    given = ([o.type for o in op.operands], [r.type for r in op.results])
    wanted = (list(callee.function_type.inputs), list(callee.function_type.outputs))
    if given != wanted:
        yield Diagnostic(f"call and signature of @{callee.sym_name.data} differ", place_of(op))


def _linear_state(module: ModuleOp) -> Iterator[Diagnostic]:
    """A state value may be read many times, but only one op may take it over."""
    for op in module.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if not isinstance(value.type, infer.StateType):
                continue
            takers = {u.operation for u in value.uses if _takes_over(u.operation, value)}
            if len(takers) > 1:
                second = [user for user in module.walk() if user in takers][1]
                yield Diagnostic(
                    f"state is taken over {len(takers)} times; a state value has one successor",
                    place_of(second),
                )


def _takes_over(op: Operation, value: SSAValue) -> bool:
    return any(r.type == value.type for r in op.results) or isinstance(op, func.ReturnOp)


def _dims(module: ModuleOp) -> Iterator[Diagnostic]:
    """Every named dimension of a value in a kernel or function has a declared range."""
    for top in module.ops:
        ranges = top.attributes.get("dims") or top.properties.get("dims")
        if not isinstance(top, func.FuncOp | kernel.FuncOp) or ranges is None:
            continue
        known = set(ranges.as_dict())
        for op in top.walk():
            arguments = (a for r in op.regions for b in r.blocks for a in b.args)
            for value in (*op.results, *arguments):
                yield from _value_dims(op, value, known)


def _value_dims(op: Operation, value: SSAValue, known: set[str]) -> Iterator[Diagnostic]:
    if not isinstance(value.type, TensorType):
        return
    try:
        verify_dims(value.type)
    except VerifyException as problem:
        yield Diagnostic(f"{op.name}: {problem}", place_of(op))
        return
    for name in sorted(set(dim_names(value.type)) - known - {STATIC}):
        yield Diagnostic(f"{op.name}: dimension '{name}' has no range here", place_of(op))


def _schedules(module: ModuleOp) -> Iterator[Diagnostic]:
    """Layers run 0, 1, 2, ... without gap or repetition, and their functions exist."""
    for scope, op in _scopes(module):
        if not isinstance(op, infer.LayersOp | engine.LayersOp):
            continue
        schedule = op.schedule
        assert isinstance(schedule, ScheduleAttr)
        layers = [n for _, a, b in schedule.steps() for n in range(a, b + 1)]
        if layers != list(range(len(layers))):
            yield Diagnostic(f"{op.name}: the schedule is not 0, 1, 2, ... in order", place_of(op))
        for name, _, _ in schedule.steps():
            if name not in scope:
                yield Diagnostic(f"{op.name}: no symbol @{name}", place_of(op))
