"""A debug build that destroys what nobody may read any more, before every step and at barriers.

Arena slots without a live value, and state slots that belong to no earlier position, become NaN.
An engine that reads none of them gives the same tokens as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp

from metainfer.codegen.c.abi import element_ctype
from metainfer.codegen.c.program import ModelPrinter
from metainfer.codegen.c.text import block, indent
from metainfer.ir.dialects import engine, infer
from metainfer.ir.symbols import lookup
from metainfer.verify.engine.memory import SlabPlan
from metainfer.verify.engine.races import Interval
from metainfer.verify.engine.slots import dead_bytes, extents_of, live_at
from metainfer.verify.engine.steps import entries_of, states_of


class Poisoner(ModelPrinter):
    """Prints the poisoning into `model.c`; part 0 does it while all others wait."""

    def __init__(self, program: engine.ProgramOp, module: ModuleOp) -> None:
        super().__init__(program, module)
        self.dead = dead_at_barriers(program)

    def hooks(self) -> list[str]:
        slabs = [line for s in states_of(self.program).values() for line in self._slabs(s)]
        return [
            "",
            "#include <string.h>",
            "",
            "/* Bytes of ones: a NaN in every format of floats. */",
            "static void poison(uint8_t *from, size_t bytes) { memset(from, 0xff, bytes); }",
            "",
            "/* A state owns the positions before the step; a ring those that the step spares. */",
            "static void disown(const struct mi_model *m, const struct mi_batch *b)",
            "{",
            *indent(slabs),
            "}",
        ]

    def begin(self, op: engine.EntryOp) -> Iterator[str]:
        extents = extents_of(self.program, op)
        yield from self._poison([(0, max(end for _, end in extents.values()))], "disown(m, b);")

    def barrier(self, op: engine.BarrierOp) -> Iterator[str]:
        yield from super().barrier(op)
        yield from self._poison(self.dead.get(op, ()))

    def _poison(self, stretches: Sequence[Interval], *more: str) -> Iterator[str]:
        lines = [f"poison(m->arena + {a}UL, {b - a}UL);" for a, b in stretches]
        if lines or more:
            yield from block("if (part == 0)", [*lines, *more])
            yield "mi_barrier(m->pool);"

    def _slabs(self, op: engine.StateOp) -> list[str]:
        """Loops over the slabs of a state, and the slots from the step's first on."""
        kind = lookup(self.module, op.sym_name.data, infer.StateOp)
        plan = SlabPlan.of(op, kind, None)
        ctype, base = element_ctype(kind.k.element_type), plan.heads * plan.room * plan.k_dim
        row = [
            f"const int32_t slot = s % {plan.room};",
            f"{ctype} *k = slab + ((size_t)h * {plan.room // 16} + slot / 16) * {plan.k_dim * 16};",
            f"{ctype} *v = slab + {base} + ((size_t)h * {plan.room} + slot) * {plan.v_dim};",
            f"for (int d = 0; d < {plan.k_dim}; d++)",
            "    poison((uint8_t *)(k + d * 16 + slot % 16), sizeof *k);",
            f"poison((uint8_t *)v, {plan.v_dim} * sizeof *v);",
        ]
        ends = f"s < b->pos[0] + b->tokens || s < {plan.room}"
        slots = block(f"for (int32_t s = b->pos[0]; {ends}; s++)", row)
        body = [
            f"uint8_t *base = m->state + {plan.start}UL + {op.bytes.value.data}UL * l;",
            f"{ctype} *slab = ({ctype} *)base;",
            *block(f"for (int h = 0; h < {plan.heads}; h++)", slots),
        ]
        return block(f"for (int l = 0; l < {len(list(op.layers))}; l++)", body)


def dead_at_barriers(program: engine.ProgramOp) -> dict[engine.BarrierOp, list[Interval]]:
    """What no later call of the step reads before it is written, after each barrier."""
    found: dict[engine.BarrierOp, list[Interval]] = {}
    for entry in entries_of(program):
        extents = extents_of(program, entry)
        for barrier, live in live_at(program, entry).items():
            found[barrier] = dead_bytes(extents, live)
    return found
