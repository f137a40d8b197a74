"""The IR gate: a sound module passes, and each check refuses the module that breaks it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.test import Test

from metainfer.ir.diagnostics import DiagnosticError
from metainfer.ir.dialects.register import register_dialects
from metainfer.ir.text import parse_module
from metainfer.ir.verify import verify_module

X = "tensor<?x32xf32, #infer.dims<tokens, _>>"
W = 'tensor<32x32x!infer.q<"q">, @rows>'
SOUND = f"""
infer.format @q attributes {{block = 1, bytes = 2, contract = "c", fields = ["d"], hash = "", \
type_id = 9}} {{
^bb0(%d: f16):
  %w = infer.cast %d : vector<1xf32>
  infer.decoded %w
}}
infer.layout @rows {{align = 64, contract = "c", hash = "", lanes = 16}}
infer.path @p {{accumulate = "f32", contract = "c", fma = true, hash = "", order = ""}}
infer.weight @w {{layers = #infer.layers<0 to 3>, slot = "w", source = "{{layer}}.w", type = {W}}}
infer.state @kv {{context = 64, k = tensor<2x8xf32>, layers = #infer.layers<0 to 3>, \
layout = @rows, v = tensor<2x8xf32>}}
kernel.func @linear(%x: {X}, %w: {W}) -> (y: {X}) \
{{dims = #infer.ranges<tokens = 1 to 4>, parts = "rows", path = @p}} {{
  %0 = infer.linear %x, %w : {X}
  kernel.return %0
}}
func.func @layer(%x: {X}, %b: !infer.batch, %s: !infer.state<@kv>) \
-> ({X}, !infer.state<@kv>) attributes {{dims = #infer.ranges<tokens = 1 to 4>}} {{
  %w = infer.weight_ref @w : {W}
  %y = kernel.call @linear, %x, %w : {X}
  %k = infer.add %y, %y : {X}
  %t = infer.state_append %s, %k, %k, %b : !infer.state<@kv>
  func.return %k, %t : {X}, !infer.state<@kv>
}}
func.func @forward(%x: {X}, %b: !infer.batch, %s: !infer.state<@kv>) \
-> ({X}, !infer.state<@kv>) attributes {{dims = #infer.ranges<tokens = 1 to 4>}} {{
  %y, %t = infer.layers %x, %b, %s {{schedule = #infer.schedule<@layer 0 to 1, @layer 2 to 3>}} \
: {X}, !infer.state<@kv>
  func.return %y, %t : {X}, !infer.state<@kv>
}}
engine.program @tiny attributes {{package = "tiny", threads = 2}} {{
  engine.pack @w {{bytes = 64, layers = #infer.layers<0 to 3>, offset = 0, streams = {{d = 0}}}}
  engine.state @kv {{bytes = 64, context = 64, layers = #infer.layers<0 to 3>, offset = 0}}
  engine.buffer @x {{type = {X}}}
  engine.buffer @y {{type = {X}}}
  engine.block @block {{
    engine.call @linear {{ins = [@x, @w], outs = [@y]}}
  }}
  engine.entry @step attributes {{dims = #infer.ranges<tokens = 1 to 4>, logits = @y}} {{
    engine.layers {{schedule = #infer.schedule<@block 0 to 3>}}
    engine.call @linear {{ins = [@x, @w], outs = [@y]}}
  }}
}}
"""


def parse(text: str) -> ModuleOp:
    ctx = Context()
    register_dialects(ctx)
    ctx.load_dialect(Test)
    return parse_module(text, "t.mlir", ctx)


def findings(text: str) -> list[str]:
    """Messages with the line that each one points at."""
    lines, module = text.split("\n"), parse(text)
    with pytest.raises(DiagnosticError) as caught:
        verify_module(module)
    found = []
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.place is not None
        found.append(f"{diagnostic.message} | {lines[diagnostic.place.line - 1].strip()[:40]}")
    return found


def test_a_sound_module_passes() -> None:
    verify_module(parse(SOUND))


ROWS = "tensor<?x8xf32, #infer.dims<rows, _>>"
OTHER_KERNEL = f"""\
kernel.func @other(%r: {ROWS}) -> (y: {ROWS}) \
{{dims = #infer.ranges<tokens = 1 to 4>, parts = "rows", path = @p}} {{
  kernel.return %r
}}
"""
BROKEN = {
    "dominance": (
        "  %y = kernel.call @linear, %x, %w",
        f'  "test.op"(%k) : ({X}) -> ()\n  %y = kernel.call @linear, %x, %w',
        ["test.op: operand 0 is used before it is defined | "],
    ),
    "a symbol twice": (
        "infer.layout @rows {",
        'infer.layout @p {align = 64, contract = "c", hash = "", lanes = 16}\ninfer.layout @rows {',
        ["@p is defined twice | infer.path @p"],
    ),
    "a symbol of a program twice": (
        f"  engine.buffer @y {{type = {X}}}",
        f"  engine.buffer @y {{type = {X}}}\n  engine.buffer @y {{type = {X}}}",
        ["@y is defined twice | engine.buffer @y"],
    ),
    "no weight": (
        "infer.weight_ref @w :", "infer.weight_ref @v :",
        ["infer.weight_ref: no symbol @v | %w = infer.weight_ref @v"],
    ),
    "another kind of symbol": (
        "infer.weight_ref @w :", "infer.weight_ref @kv :",
        ["infer.weight_ref: @kv is infer.state | %w = infer.weight_ref @kv"],
    ),
    "no path": (
        'parts = "rows", path = @p', 'parts = "rows", path = @rows',
        ["kernel.func: @rows is infer.layout | kernel.func @linear"],
    ),
    "no layout of a state": (
        "layout = @rows, v", "layout = @p, v",
        ["infer.state: @p is infer.path | infer.state @kv"],
    ),
    "no callee": (
        "kernel.call @linear, %x, %w", "kernel.call @layer, %x, %w",
        ["kernel.call: @layer is func.func | %y = kernel.call @layer"],
    ),
    "no callee in a block": (
        "    engine.call @linear {ins = [@x, @w], outs = [@y]}\n  }\n  engine.entry",
        "    engine.call @lineal {ins = [@x, @w], outs = [@y]}\n  }\n  engine.entry",
        ["engine.call: no symbol @lineal | engine.call @lineal"],
    ),
    "no buffer": (
        "    engine.call @linear {ins = [@x, @w], outs = [@y]}\n  }\n}",
        "    engine.call @linear {ins = [@z, @w], outs = [@step]}\n  }\n}",
        ["engine.call: no symbol @z | engine.call", "engine.call: @step is engine.entry | "],
    ),
    "no logits": (
        "logits = @y", "logits = @kv",
        ["engine.entry: @kv is engine.state | engine.entry @step"],
    ),
    "a pack of no weight": (
        "engine.pack @w {", "engine.pack @v {",
        ["engine.call: @w is infer.weight | ", "engine.call: @w is infer.weight | ",
         "engine.pack: no symbol @v | engine.pack @v"],
    ),
    "a slab of no state": (
        "engine.state @kv {", "engine.state @p {",
        ["engine.state: @p is infer.path | engine.state @p"],
    ),
    "the type of a weight": (
        f"  %w = infer.weight_ref @w : {W}",
        f"  %w = infer.weight_ref @w : {W}\n  %u = infer.weight_ref @w : tensor<32x32xf32>",
        ["@w is tensor<32x32x!infer.q<\"q\">, @rows>, not tensor<32x32xf32> | %u ="],
    ),
    "operands of a call": (
        "kernel.call @linear, %x, %w :", "kernel.call @linear, %w, %x :",
        ["call and signature of @linear differ | %y = kernel.call"],
    ),
    "results of a call": (
        f"  %y = kernel.call @linear, %x, %w : {X}",
        f"  %y, %more = kernel.call @linear, %x, %w : {X}, {X}",
        ["call and signature of @linear differ | %y, %more"],
    ),
    "a state taken over twice": (
        "  func.return %k, %t :",
        "  %u = infer.state_append %s, %k, %k, %b : !infer.state<@kv>\n  func.return %k, %u :",
        ["state is taken over 2 times; a state value has one successor | "],
    ),
    "a state taken over and returned": (
        "  func.return %k, %t :", "  func.return %k, %s :",
        ["state is taken over 2 times; a state value has one successor | "],
    ),
    "a dim without a range": (
        "  func.return %y, %t :",
        f'  %z = "test.op"() : () -> ({ROWS})\n  func.return %y, %t :',
        ["test.op: dimension 'rows' has no range here | %z ="],
    ),
    "an argument's dim without a range": (
        "kernel.func @linear(%x: tensor<?x32xf32, #infer.dims<tokens, _>>, %w",
        OTHER_KERNEL + "kernel.func @linear(%x: tensor<?x32xf32, #infer.dims<tokens, _>>, %w",
        ["kernel.func: dimension 'rows' has no range here | kernel.func @other"],
    ),
    "a dim without a name": (
        "  func.return %y, %t :",
        '  %z = "test.op"() : () -> (tensor<?x8xf32>)\n  func.return %y, %t :',
        ["test.op: tensor<?x8xf32>: a dynamic dimension needs a name in #infer.dims | %z ="],
    ),
    "a gap in a schedule": (
        "@layer 0 to 1, @layer 2 to 3", "@layer 0 to 1, @layer 3 to 3",
        ["infer.layers: the schedule is not 0, 1, 2, ... in order | %y, %t = infer.layers"],
    ),
    "a layer twice": (
        "@layer 0 to 1, @layer 2 to 3", "@layer 0 to 1, @layer 1 to 3",
        ["infer.layers: the schedule is not 0, 1, 2, ... in order | %y, %t = infer.layers"],
    ),
    "layers out of order": (
        "@layer 0 to 1, @layer 2 to 3", "@layer 2 to 3, @layer 0 to 1",
        ["infer.layers: the schedule is not 0, 1, 2, ... in order | %y, %t = infer.layers"],
    ),
    "a schedule that starts late": (
        "#infer.schedule<@block 0 to 3>", "#infer.schedule<@block 1 to 3>",
        ["engine.layers: the schedule is not 0, 1, 2, ... in order | engine.layers"],
    ),
    "a schedule of no function": (
        "@layer 0 to 1, @layer 2 to 3", "@layer 0 to 1, @lawyer 2 to 3",
        ["infer.layers: no symbol @lawyer | %y, %t = infer.layers"],
    ),
    "a block of another program": (
        "#infer.schedule<@block 0 to 3>", "#infer.schedule<@bloc 0 to 3>",
        ["engine.layers: no symbol @bloc | engine.layers"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_each_check_refuses_what_breaks_it(name: str) -> None:
    old, new, wanted = BROKEN[name]
    assert SOUND.count(old) == 1, f"{SOUND.count(old)} places"
    found = findings(SOUND.replace(old, new))
    assert len(found) == len(wanted), found
    for message, start in zip(found, wanted, strict=True):
        assert message.startswith(start), found


def test_a_kernel_sees_nothing_from_outside() -> None:
    text = SOUND.replace(
        f"  %0 = infer.linear %x, %w : {X}", f"  %0 = infer.add %early, %early : {X}"
    )
    found = findings(f'%early = "test.op"() : () -> {X}\n{text}')
    assert len(found) == 1 and found[0].endswith(" | kernel.func @linear(%x: tensor<?x32xf32,"), (
        found
    )


@pytest.mark.parametrize("symbol", ["format @q", "layout @rows", "path @p", "state @kv"])
def test_what_types_refer_to_must_be_there(symbol: str) -> None:
    """A dump whose format, layout, path or state was deleted is refused, not looked up later."""
    name = symbol.split("@")[1]
    start = SOUND.index(f"infer.{symbol}")
    # Each definition begins on a line of its own.
    starts = [m.start() for m in re.finditer(r"^(infer|kernel|func|engine)\.", SOUND, re.M)]
    end = next(b for a, b in pairwise(starts) if a == start)
    found = findings(SOUND[:start] + SOUND[end:])
    assert found and all(f"no symbol @{name}" in message for message in found)


def test_all_findings_are_given_at_once() -> None:
    text = SOUND.replace("@layer 0 to 1, @layer 2 to 3", "@layer 0 to 3, @lawyer 5 to 5")
    text = text.replace("logits = @y", "logits = @nothing")
    assert [f.split(" |")[0] for f in findings(text)] == [
        "engine.entry: no symbol @nothing",
        "infer.layers: the schedule is not 0, 1, 2, ... in order",
        "infer.layers: no symbol @lawyer",
    ]


def test_reading_a_state_many_times_is_fine() -> None:
    attend = (
        'infer.attend %y, %t, %b {head_dim = 16, kv_heads = 2, mask = "causal", q_heads = 2, '
        f"scale = 1.0 : f64}} : {X}"
    )
    text = SOUND.replace(
        "  func.return %k, %t :", f"  %a0 = {attend}\n  %a1 = {attend}\n  func.return %k, %t :"
    )
    verify_module(parse(text))
