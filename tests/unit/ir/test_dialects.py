"""Ops of the `infer`, `plan`, `kernel` and `engine` dialects: examples, round trips, refusals."""

from __future__ import annotations

import re

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import Test
from xdsl.ir import Operation

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects.engine import Engine
from metainfer.ir.dialects.infer import Infer
from metainfer.ir.dialects.kernel import Kernel
from metainfer.ir.dialects.plan import Plan
from metainfer.ir.dialects.register import register_dialects
from metainfer.ir.text import parse_module, print_module
from metainfer.ir.verify import verify_module

OPS = [op for dialect in (Infer, Plan, Kernel, Engine) for op in dialect.operations]
TERMINATORS = {"infer.decoded", "infer.yield", "kernel.return"}
"""Shown in the examples of the ops that they end."""


def parse(text: str) -> ModuleOp:
    ctx = Context(allow_unregistered=True)
    register_dialects(ctx)
    ctx.load_dialect(Test)
    return parse_module(text, "t.mlir", ctx)


def example_of(op: type[Operation]) -> str | None:
    found = re.findall(r"```mlir\n(.*?)```", op.__doc__ or "", re.S)
    return found[0] if found else None


def texts(module: ModuleOp) -> dict[tuple[bool, bool], str]:
    forms = ((generic, locations) for generic in (False, True) for locations in (False, True))
    return {f: print_module(module, generic=f[0], locations=f[1]) for f in forms}


@pytest.mark.parametrize("op", OPS, ids=lambda op: str(op.name))
def test_every_op_has_an_example_that_parses_and_returns(op: type[Operation]) -> None:
    example = example_of(op)
    if op.name in TERMINATORS:
        assert any(f"{op.name} " in (example_of(other) or "") for other in OPS)
        return
    assert example is not None, "an op shows in its docstring how it is written"
    module = parse(example)
    module.verify()
    assert any(isinstance(found, op) for found in module.walk())
    printed = texts(module)
    for (generic, locations), text in printed.items():
        again = parse(text)
        again.verify()
        assert again.is_structurally_equivalent(module), text
        assert print_module(again, generic=generic, locations=locations) == text
        if locations:
            assert print_module(again, locations=True) == printed[False, True]


X = "tensor<?x32xf32, #infer.dims<tokens, _>>"
Y = "tensor<?x16xf32, #infer.dims<tokens, _>>"
LAST = "tensor<?x32xf32, #infer.dims<seqs, _>>"


def values(**types: str) -> str:
    """Values of these types, by name."""
    names = ", ".join(f"%{name}" for name in types)
    return f'{names} = "test.op"() : () -> ({", ".join(types.values())})\n'


def func(body: str, *, parts: str = "columns", result: str = X) -> str:
    return (
        f"kernel.func @f(%a: {X}, %b: {X}) -> (y: {result}) "
        f'{{dims = #infer.ranges<tokens = 1 to 4>, parts = "{parts}", path = @p}} {{\n{body}\n}}'
    )


FORMAT = (
    'infer.format @q attributes {{block = 2, bytes = {bytes}, contract = "c", '
    'fields = [{fields}], hash = "", type_id = 9}} {{\n^bb0({arguments}):\n'
    '  %w = "test.op"() : () -> (vector<2xf32>)\n  infer.decoded %w\n}}'
)
DECISION = (
    'plan.decision @d {{alternatives = ["a", "b"], by = "{by}", right = "{right}", site = "s", '
    'value = "{value}", what = "w"}}'
)
ATTEND = (
    f"{values(q=X, s='!infer.state<@kv>', b='!infer.batch')}%y = infer.attend %q, %s, %b "
    '{{head_dim = {head}, kv_heads = {kv}, mask = "{mask}", q_heads = {q}, '
    "scale = 1.0 : f64}} : {result}"
)
ROPE = (
    f"{values(x=X, b='!infer.batch')}%y = infer.rope %x, %b "
    '{{head_dim = {head}, pairing = "{pairing}", theta = 1.0 : f64}} : {result}'
)


def attend(head: int = 16, kv: int = 1, q: int = 2, mask: str = "causal", result: str = X) -> str:
    return ATTEND.format(head=head, kv=kv, q=q, mask=mask, result=result)


def append(k: str, v: str, result: str = "!infer.state<@kv>") -> str:
    made = values(s="!infer.state<@kv>", k=k, v=v, b="!infer.batch")
    return f"{made}%t = infer.state_append %s, %k, %v, %b : {result}"


def group(body: str, result: str = X) -> str:
    head = f'%y = infer.group attributes {{rule = "r"}} : {result}'
    return f"{values(x=X)}{head} {{\n  {body}\n}}"


def rope(head: int = 16, pairing: str = "half", result: str = X) -> str:
    return ROPE.format(head=head, pairing=pairing, result=result)


def format_(arguments: str = "%d: f16", fields: str = '"d"', bytes: int = 2) -> str:
    return FORMAT.format(arguments=arguments, fields=fields, bytes=bytes)


def decision(by: str = "user", right: str = "pinned", value: str = "a") -> str:
    return DECISION.format(by=by, right=right, value=value)


VALID = {
    "attend": attend(),
    "rope": rope(),
    "append": append(X, X),
    "group": group("infer.yield %x"),
    "format": format_(),
    "decision": decision(),
    "func": func(f"%0 = infer.add %a, %b : {X}\nkernel.return %0"),
}


@pytest.mark.parametrize("name", VALID)
def test_the_bases_of_the_refused_ones_are_sound(name: str) -> None:
    parse(VALID[name]).verify()


INVALID = [
    # Types of every computing op
    (f"{values(a='tensor<?x8xf32>')}%y = infer.add %a, %a : tensor<?x8xf32>",
     "a dynamic dimension needs a name in #infer.dims"),
    (f"{values(a='tensor<f32>')}%y = infer.add %a, %a : tensor<f32>",
     "a tensor has dimensions here"),
    # Formats and decoding
    (format_(fields='"d", "m"'), "one block argument per field"),
    (format_(bytes=4), "fields take 2 bytes, the block has 4"),
    (format_("%d: index"), "index is no storage type"),
    (format_("%d: vector<4xi4>"), "i4 is no storage type"),
    (f"{values(w='vector<2xf32>')}infer.decoded %w", "'infer.decoded' expects parent op"),
    (f"{values(d='vector<4xi8>')}%v = infer.cast %d : vector<8xf32>", "shape must be a prefix"),
    (f"{values(a='vector<4xf32>')}%v = infer.concat %a, %a : vector<9xf32>",
     "lengths must add up"),
    # Shapes
    (f"{values(b='!infer.batch', w='tensor<9x16xf32>')}%y = infer.embed %b, %w : {X}",
     "result and table need one width"),
    (f"{values(b='!infer.batch', w='tensor<32xf32>')}%y = infer.embed %b, %w : {X}",
     "the table is a matrix"),
    (f"{values(x=X, w='tensor<32xf32>')}%y = infer.rms_norm %x, %w {{eps = 1.0 : f64}} : {Y}",
     "result has the type of the input"),
    (f"{values(x=X, w='tensor<33xf32>')}%y = infer.rms_norm %x, %w {{eps = 1.0 : f64}} : {X}",
     "weight"),
    (f"{values(x=X, w='tensor<16x33xf32>')}%y = infer.linear %x, %w : {Y}",
     "input and weight need one inner size"),
    (f"{values(x=X, w='tensor<17x32xf32>')}%y = infer.linear %x, %w : {Y}",
     "result is \\(x rows, w rows\\)"),
    (f"{values(x=X, w='tensor<32xf32>')}%y = infer.linear %x, %w : {X}",
     "the weight is a matrix"),
    (f"{values(x=X, w='tensor<32x32xf32>')}%y = infer.linear %x, %w : {LAST}",
     "result is \\(x rows, w rows\\)"),
    (rope(result=Y), "result has the type of the input"),
    (rope(head=15), "head_dim 15 must be even and divide the width 32"),
    (rope(head=0), "head_dim 0 must be even and divide the width 32"),
    (rope(head=12), "head_dim 12 must be even and divide the width 32"),
    (rope(pairing="quarter"), "pairing 'quarter' is none of"),
    (append(k=X, v=X, result="!infer.state<@other>"),
     "result is the state that came in"),
    (append(k=X, v=LAST),
     "k and v have the same tokens"),
    (attend(kv=3), "3 KV heads do not divide 2 query heads"),
    (attend(kv=0), "0 KV heads do not divide 2 query heads"),
    (attend(mask="tree"), "mask 'tree' is none of"),
    (attend(head=8), "the query is q_heads x head_dim = 16 wide"),
    (attend(result=LAST), "result has the type of the query"),
    (f"{values(a=X, b=X)}%y = infer.add %a, %b : {LAST}", "operands and result have one type"),
    (f"{values(a=X, b=LAST)}%y = infer.add %a, %b : {X}", "operands and result have one type"),
    (f'{values(a=X, b=X)}%y = infer.gated_act %a, %b {{act = "silu"}} : {LAST}',
     "operands and result have one type"),
    (f'{values(a=X, b=X)}%y = infer.gated_act %a, %b {{act = "sine"}} : {X}',
     "act 'sine' is none of"),
    (f"{values(x=X, b='!infer.batch')}%y = infer.select_last %x, %b : {X}",
     "result is \\(seqs, columns of x\\)"),
    # Groups
    (group(f"%0 = infer.add %x, %x : {X}"),
     "a group ends with infer.yield"),
    (group("infer.yield %x", result=LAST),
     "the group yields its results"),
    (f"{values(x=X)}infer.yield %x", "'infer.yield' expects parent op"),
    # Kernels
    (func(f"%0 = infer.add %a, %b : {X}\nkernel.return %0", parts="some"),
     "parts 'some' is none of rows, columns, heads, tokens, none"),
    (func(f"%0 = infer.add %a, %b : {X}"), "semantics end with kernel.return"),
    (func("kernel.return %a", result=Y), "returned values and signature differ"),
    (func("kernel.return %a, %b"), "returned values and signature differ"),
    (f"{values(x=X)}kernel.return %x", "'kernel.return' expects parent op"),
    # Decisions
    (decision(by="me"), "by 'me' is none of rule, llm, user"),
    (decision(right="mine"), "right 'mine' is none of pinned, bounded, chosen"),
    (decision(value="c"), "value 'c' is none of a, b"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), INVALID, ids=lambda v: str(v)[:60])
def test_ops_that_break_their_rule_are_refused_at_their_place(text: str, message: str) -> None:
    module = parse(text)
    with pytest.raises(DiagnosticError) as caught:
        verify_module(module)
    (diagnostic,) = caught.value.diagnostics
    assert re.search(message, diagnostic.message), diagnostic.message
    assert diagnostic.place is not None and diagnostic.place.file == "t.mlir"


def test_a_kernel_s_block_and_signature_agree() -> None:
    text = print_module(parse(VALID["func"]), generic=True)
    swapped = text.replace(f"function_type = ({X}, {X})", f"function_type = ({X}, {Y})")
    assert swapped != text
    with pytest.raises(DiagnosticError, match="block arguments and signature differ"):
        verify_module(parse(swapped))
    nameless = text.replace('arguments = ["a", "b"]', 'arguments = ["a"]')
    assert nameless != text
    with pytest.raises(DiagnosticError, match="each argument and result has one name"):
        verify_module(parse(nameless))


def test_a_state_without_a_layout_has_no_room() -> None:
    from xdsl.utils.exceptions import VerifyException

    from metainfer.ir.dialects.infer import StateOp

    text = (
        "infer.state @kv {k = tensor<3x64xf16>, layers = #infer.layers<0 to 1>, "
        "v = tensor<3x64xf16>}"
    )
    (state,) = parse(text).ops
    assert isinstance(state, StateOp) and state.bytes_per_token() == 2 * 3 * 64 * 2
    with pytest.raises(VerifyException, match="state @kv has no layout yet"):
        state.slots()


def test_values_must_be_defined_where_simple_ops_use_them() -> None:
    with pytest.raises(DiagnosticError, match="value x is not defined here"):
        parse(f"%y = infer.add %x, %x : {X}")
    with pytest.raises(DiagnosticError, match="value x is not defined here"):
        parse(f"{values(x=X)}%y = infer.add %x#1, %x : {X}")
