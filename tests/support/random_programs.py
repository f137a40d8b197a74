"""Random engine programs, and what running one step of them does, layer by layer.

A program has calls before a loop over layers, blocks that the layers run, and calls after it.
Kernels share their work in each of the ways that ours do: by rows, by columns, reading
everything, and by the first part alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from metainfer.ir.dialects import engine
from metainfer.ir.dialects.register import register_dialects
from metainfer.ir.symbols import all_of
from metainfer.ir.text import parse_module

_X = "tensor<?x32xf32, #infer.dims<tokens, _>>"
_DIMS = "#infer.ranges<tokens = 1 to 4, seqs = 1 to 1>"
_KERNELS = f"""
infer.path @p {{accumulate = "f32", contract = "t", fma = true, hash = "", order = ""}}
infer.weight @scale {{slot = "s", source = "s", type = tensor<32xf32>}}
infer.weight @matrix {{slot = "m", source = "m", type = tensor<32x32xf32>}}
kernel.func @add(%a: {_X}, %b: {_X}) -> (y: {_X}) \
{{dims = #infer.ranges<tokens = 1 to 4>, parts = "columns", path = @p}} {{
  %0 = infer.add %a, %b : {_X}
  kernel.return %0
}}
kernel.func @alone(%a: {_X}, %b: {_X}) -> (y: {_X}) \
{{dims = #infer.ranges<tokens = 1 to 4>, parts = "none", path = @p}} {{
  %0 = infer.add %a, %b : {_X}
  kernel.return %0
}}
kernel.func @norm(%a: {_X}, %w: tensor<32xf32>) -> (y: {_X}) \
{{dims = #infer.ranges<tokens = 1 to 4>, parts = "tokens", path = @p}} {{
  %0 = infer.rms_norm %a, %w {{eps = 1.0e-05 : f64}} : {_X}
  kernel.return %0
}}
kernel.func @linear(%a: {_X}, %w: tensor<32x32xf32>) -> (y: {_X}) \
{{dims = #infer.ranges<tokens = 1 to 4>, parts = "rows", path = @p}} {{
  %0 = infer.linear %a, %w : {_X}
  kernel.return %0
}}
"""
_SECOND = {"add": None, "alone": None, "norm": "scale", "linear": "matrix"}
"""Kernel → the weight it reads beside its input, or None where it reads two buffers."""
PACKS = ("scale", "matrix")


@dataclass(frozen=True)
class Call:
    """`out = kernel(ins)`."""

    kernel: str
    ins: tuple[str, ...]
    out: str

    def text(self) -> str:
        ins = ", ".join(f"@{name}" for name in self.ins)
        return f"engine.call @{self.kernel} {{ins = [{ins}], outs = [@{self.out}]}}"


@dataclass(frozen=True)
class Program:
    """The parts of a step, and which block each layer runs."""

    before: tuple[Call, ...]
    blocks: tuple[tuple[Call, ...], ...]
    layers: tuple[int, ...]
    after: tuple[Call, ...]

    def buffers(self) -> list[str]:
        """Every buffer that a call names."""
        calls = (*self.before, *(c for b in self.blocks for c in b), *self.after)
        names = {n for c in calls for n in (*c.ins, c.out)} | {"x"}
        return sorted(names - set(PACKS))

    def module(self) -> ModuleOp:
        """The module with this program; no barriers, no offsets."""
        lines = [_KERNELS, 'engine.program @t attributes {package = "t", threads = 2 : i64} {']
        for offset, (name, size) in enumerate((("scale", 128), ("matrix", 4096))):
            lines.append(
                f"  engine.pack @{name} {{bytes = {size} : i64, offset = {128 * offset} : i64, "
                "streams = {w = 0 : i64}}"
            )
        lines += [f"  engine.buffer @{name} {{type = {_X}}}" for name in self.buffers()]
        for number, block in enumerate(self.blocks):
            lines += [f"  engine.block @block{number} {{", *(c.text() for c in block), "  }"]
        steps = ", ".join(f"@block{b} {n} to {n}" for n, b in enumerate(self.layers))
        lines += [
            f"  engine.entry @step attributes {{dims = {_DIMS}, logits = @logits}} {{",
            *(c.text() for c in self.before),
            f"engine.layers {{schedule = #infer.schedule<{steps}>}}",
            *(c.text() for c in self.after),
            "  }",
            "}",
        ]
        ctx = Context()
        register_dialects(ctx)
        return parse_module("\n".join(lines), "random.mlir", ctx)


@st.composite
def _calls(draw: st.DrawFn, readable: list[str], own: list[str], most: int) -> tuple[Call, ...]:
    """Calls that read what is readable or was written by an earlier one, and write `own`."""
    known = list(readable)
    calls = []
    for _ in range(draw(st.integers(0, most))):
        kernel = draw(st.sampled_from(sorted(_SECOND)))
        first = draw(st.sampled_from(known))
        second = _SECOND[kernel] or draw(st.sampled_from(known))
        out = draw(st.sampled_from(own))
        calls.append(Call(kernel, (first, second), out))
        if out not in known:
            known.append(out)
    return tuple(calls)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program whose every read finds something written."""
    start = (Call("norm", ("x", "scale"), "x"), Call("norm", ("x", "scale"), "early0"))
    outer = ["x", "early0", "early1", "early2"]
    before = (*start, *draw(_calls(["x", "early0"], outer, 3)))
    written = sorted({c.out for c in before})
    count = draw(st.integers(1, 3))
    blocks = []
    for number in range(count):
        own = ["x", *written, *(f"local{number}_{n}" for n in range(3))]
        calls = draw(_calls(written, own, 5))
        blocks.append(calls or (Call("add", ("x", "x"), "x"),))
    extra = draw(st.lists(st.integers(0, count - 1), max_size=3))
    layers = draw(st.permutations([*range(count), *extra]))
    after = draw(_calls(written, [*written, "late0", "late1"], 3))
    last = (*after, Call("linear", ("x", "matrix"), "logits"))
    return Program(before, tuple(blocks), tuple(layers), last)


def program_of(module: ModuleOp) -> engine.ProgramOp:
    """The module's only program."""
    (program,) = all_of(module, engine.ProgramOp)
    return program


def blocks_of(program: engine.ProgramOp) -> dict[str, engine.BlockOp]:
    """The program's blocks by name."""
    ops = program.body.block.ops
    return {op.sym_name.data: op for op in ops if isinstance(op, engine.BlockOp)}


def executed(
    entry: engine.EntryOp, program: engine.ProgramOp
) -> Iterator[engine.CallOp | engine.BarrierOp]:
    """Calls and barriers of one step in the order in which they run, every layer apart."""
    blocks = blocks_of(program)
    for op in entry.body.block.ops:
        if isinstance(op, engine.LayersOp):
            for name, first, last in op.schedule.steps():
                for _ in range(first, last + 1):
                    yield from _run(blocks[name].body.block.ops)
        else:
            yield from _run([op])


def _run(ops: object) -> Iterator[engine.CallOp | engine.BarrierOp]:
    for op in ops:  # type: ignore[attr-defined]
        assert isinstance(op, engine.CallOp | engine.BarrierOp)
        yield op


def stretches(
    entry: engine.EntryOp, program: engine.ProgramOp
) -> Iterator[tuple[engine.BarrierOp | None, list[engine.CallOp]]]:
    """The calls between barriers, each list with the barrier before it."""
    barrier: engine.BarrierOp | None = None
    calls: list[engine.CallOp] = []
    for op in executed(entry, program):
        if isinstance(op, engine.BarrierOp):
            yield barrier, calls
            barrier, calls = op, []
        else:
            calls.append(op)
    yield barrier, calls
