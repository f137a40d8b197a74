"""Debug builds of `model.c`: the same program, which shows or destroys values on its way."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute

from metainfer.codegen.c.program import ModelPrinter
from metainfer.ir.dialects import engine
from metainfer.ir.dims import sizes


class LayerTracer(ModelPrinter):
    """The host's function `mi_trace` sees what each layer leaves to the next.

    That is rows x cols values, those of one token in a row.
    """

    def hooks(self) -> list[str]:
        arguments = "const char *block, int layer, const float *x, int rows, int cols"
        return ["", f"void (*mi_trace)({arguments});"]

    def run_layer(self, name: str) -> list[str]:
        blocks = (o for o in self.ops if isinstance(o, engine.BlockOp))
        carried = _carried(next(o for o in blocks if o.sym_name.data == name))
        buffer = self.kinds[carried]
        assert isinstance(buffer, engine.BufferOp)
        rows, cols = sizes(buffer.type)
        return [
            *super().run_layer(name),
            "mi_barrier(m->pool);",
            "if (part == 0 && mi_trace)",
            f'    mi_trace("{name}", layer, B_{carried}, b->{rows}, {cols});',
            "mi_barrier(m->pool);",
        ]


def _carried(block: engine.BlockOp) -> str:
    """The buffer that runs through the layers: the one that a block reads before it writes it."""
    written, before = set[Attribute](), set[Attribute]()
    for op in block.body.block.ops:
        if isinstance(op, engine.CallOp):
            before |= {place for place in op.ins if place not in written}
            written |= set(op.outs)
    carried = [place for place in written & before if isinstance(place, SymbolRefAttr)]
    assert len(carried) == 1
    return carried[0].root_reference.data


class CallTracer(ModelPrinter):
    """The host's function `mi_trace` is called before (`done` 0) and after each kernel call.

    `call` counts the calls of the whole program in the order of its text; `layer` is -1 outside
    the loop over layers. All parts wait meanwhile.
    """

    def hooks(self) -> list[str]:
        arguments = (
            "int call, int layer, int done, const struct mi_model *m, const struct mi_batch *b"
        )
        return [
            "",
            f"void (*mi_trace)({arguments});",
            "",
            f"static void show({arguments}, int part)",
            "{",
            "    mi_barrier(m->pool);",
            "    if (part == 0 && mi_trace)",
            "        mi_trace(call, layer, done, m, b);",
            "    mi_barrier(m->pool);",
            "}",
        ]

    def call(self, op: engine.CallOp) -> Iterator[str]:
        number = calls_of(self.program).index(op)
        layer = "layer" if isinstance(op.parent_op(), engine.BlockOp) else "-1"
        yield f"show({number}, {layer}, 0, m, b, part);"
        yield from super().call(op)
        yield f"show({number}, {layer}, 1, m, b, part);"


def calls_of(program: engine.ProgramOp) -> list[engine.CallOp]:
    """All calls of a program, in the order of its text."""
    return [op for op in program.walk() if isinstance(op, engine.CallOp)]
