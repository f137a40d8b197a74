"""C text of an engine program: `engine.h`, `kernels.h`, `kernels.c` and `model.c`.

Prints what the IR says and decides nothing. Names are the IR's; every offset is a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block

from metainfer.codegen.c.abi import CArg, element_ctype, prototype, signature
from metainfer.codegen.c.text import block, indent
from metainfer.ir.dialects import engine, infer, kernel
from metainfer.ir.dims import LayersAttr
from metainfer.ir.symbols import all_of, lookup
from metainfer.passes.sizes import key_bytes, weight_format

MOST_RUNS = 4
"""Runs of layers that get a loop of their own; more become one loop with a choice."""


@dataclass(frozen=True)
class Facts:
    """Constants of `engine.h` that the program itself does not hold."""

    build_id: str
    weights_id: str
    vocab: int
    eos_ids: tuple[int, ...]
    cpu_features: tuple[str, ...]


def prelude() -> str:
    """`lanes.h`: vectors of 16 lanes for every instruction set."""
    return (files(__package__) / "prelude.h").read_text(encoding="utf-8")


def batch_header() -> str:
    """`batch.h`: what a step computes, as kernels see it."""
    return _guarded(
        "MI_BATCH_H",
        [
            "#include <stdint.h>",
            "",
            "/* ids, pos, row and slot have one element per token, kv_len one per sequence. */",
            "struct mi_batch {",
            "    int32_t tokens, seqs;",
            "    const int32_t *ids;     /* token ids */",
            "    const int32_t *pos;     /* position of a token in its sequence */",
            "    const int32_t *row;     /* sequence of a token */",
            "    const int32_t *q_start; /* first token of each sequence, then the end */",
            "    const int32_t *kv_len;  /* positions of a sequence valid after the step */",
            "    const int32_t *slot;    /* state position that a token writes */",
            "};",
        ],
    )


def _guarded(name: str, lines: list[str]) -> str:
    return "\n".join([f"#ifndef {name}", f"#define {name}", *lines, "#endif"]) + "\n"


def kernels_header(module: ModuleOp) -> str:
    """`kernels.h`: prototypes, each with what it computes."""
    lines = ['#include "batch.h"', '#include "lanes.h"', ""]
    for func in all_of(module, kernel.FuncOp):
        lines += [f"/* {_meaning(func)} */", prototype(func, module) + ";", ""]
    return _guarded("MI_KERNELS_H", lines[:-1])


def _meaning(func: kernel.FuncOp) -> str:
    ops = [op.name.removeprefix("infer.") for op in func.semantics.block.ops][:-1]
    bounds = ", ".join(f"{n} {a} to {b}" for n, (a, b) in func.dims.as_dict().items())
    return f"{', '.join(ops)}; {bounds}; shared by {func.parts.data}"


def kernels_source(module: ModuleOp) -> str:
    """`kernels.c`: every kernel with the body that the gate admitted."""
    lines = ['#include "kernels.h"', "", "#include <math.h>", ""]
    for func in all_of(module, kernel.FuncOp):
        assert func.body is not None
        lines += [prototype(func, module), "{"]
        lines += indent(_unused(func, module))
        lines += indent(line.data for line in func.body)
        lines += ["}", ""]
    return "\n".join(lines[:-1]) + "\n"


def _unused(func: kernel.FuncOp, module: ModuleOp) -> list[str]:
    """A cast to void for each parameter that the body does not mention."""
    assert func.body is not None
    words = set[str]()
    for line in func.body:
        words.update(re.findall(r"\w+", line.data))
    return [f"(void){a.name};" for a in signature(func, module) if a.name not in words]


def _cpu_check(features: Sequence[str]) -> list[str]:
    """`MI_CPU_FEATURES_CHECK`: glibc's own question where it has one.

    The compiler's built-in one always says no under compilers that bring no libgcc, as Zig's.
    """
    active = [f"CPU_FEATURE_ACTIVE({_GLIBC_NAMES.get(f, f.upper())})" for f in features]
    supported = [f'__builtin_cpu_supports("{f}")' for f in features]
    return [
        "#if __has_include(<sys/platform/x86.h>)",
        "#include <sys/platform/x86.h>",
        f"#define MI_CPU_FEATURES_CHECK ({' && '.join(active) or 1})",
        "#else",
        f"#define MI_CPU_FEATURES_CHECK ({' && '.join(supported) or 1})",
        "#endif",
    ]


_GLIBC_NAMES = {"avx512vnni": "AVX512_VNNI"}
"""Where they are not the upper-case spelling of the compiler's."""


def engine_header(program: engine.ProgramOp, facts: Facts) -> str:
    """`engine.h`: the constants of this engine, and the model's side of the runtime."""
    assert program.arena and program.weights and program.states
    state = next(op for op in program.body.block.ops if isinstance(op, engine.StateOp))
    ranges = [e.dims.as_dict() for e in _entries(program)]
    chunk = max(r["tokens"][1] for r in ranges)
    values = [
        ("BUILD_ID", f'"{facts.build_id}"', "hash of the program and its sources"),
        ("WEIGHTS_ID", f'"{facts.weights_id}"', "hash of the model and its layouts"),
        ("VOCAB", str(facts.vocab), "model"),
        ("CONTEXT", str(state.context.value.data), "spec: workload context"),
        ("CHUNK", str(chunk), "plan: most tokens of one step"),
        ("MAX_THREADS", str(program.threads.value.data), "plan: threads"),
        ("WEIGHTS_BYTES", f"{program.weights.value.data}UL", "plan: packed weights"),
        ("STATE_BYTES", f"{program.states.value.data}UL", "plan: state of all layers"),
        ("ARENA_BYTES", f"{program.arena.value.data}UL", "plan: buffers between kernels"),
        ("LOGITS_OFFSET", str(_logits_offset(program)), "plan: logits in the arena"),
        ("EOS_IDS", "{" + ", ".join(map(str, facts.eos_ids)) + "}", "model: end tokens"),
        ("EOS_COUNT", str(len(facts.eos_ids)), "model: end tokens"),
        ("CPU_FEATURES", f'"{" ".join(facts.cpu_features)}"', "plan: instruction set"),
        *_ring(program),
    ]
    lines = ['#include "batch.h"', ""]
    lines += [f"#define MI_{name} {value} /* {origin} */" for name, value, origin in values]
    lines += [
        *_cpu_check(facts.cpu_features),
        "",
        "struct mi_pool;",
        "",
        "struct mi_model {",
        "    const uint8_t *weights;",
        "    uint8_t *state;",
        "    uint8_t *arena;",
        "    struct mi_pool *pool;",
        "};",
        "",
        "/* One step; every part 0 .. parts - 1 calls it, and they meet at the barriers inside. */",
        "void mi_forward(const struct mi_model *m, const struct mi_batch *b, int part, int parts);",
        "void mi_barrier(struct mi_pool *pool);",
    ]
    return _guarded("MI_ENGINE_H", lines)


def _ring(program: engine.ProgramOp) -> list[tuple[str, str, str]]:
    """What the runtime must know of states that forget: the shortest ring, the longest window."""
    states = [s for s in program.body.block.ops if isinstance(s, engine.StateOp)]
    rings = [s.ring.value.data for s in states if s.ring is not None]
    windows = [s.window.value.data for s in states if s.window is not None]
    if not rings:
        return []
    return [
        ("RING", str(min(rings)), "plan: latest tokens that every state holds"),
        ("WINDOW", str(max(windows)), "model: tokens that a token sees in such a state"),
    ]


def has_ring(program: engine.ProgramOp) -> bool:
    """Whether a state holds less than the whole context."""
    return bool(_ring(program))


def _entries(program: engine.ProgramOp) -> list[engine.EntryOp]:
    found = [op for op in program.body.block.ops if isinstance(op, engine.EntryOp)]
    return sorted(found, key=lambda e: e.dims.as_dict()["tokens"])


def _logits_offset(program: engine.ProgramOp) -> int:
    names = {e.logits.root_reference.data for e in _entries(program)}
    offsets = {
        b.offset.value.data
        for b in program.body.block.ops
        if isinstance(b, engine.BufferOp) and b.sym_name.data in names and b.offset is not None
    }
    assert len(offsets) == 1
    return offsets.pop()


def model_source(
    program: engine.ProgramOp, module: ModuleOp, printer_class: type[ModelPrinter] | None = None
) -> str:
    """`model.c`: where everything lies, the layers, the entries, and which entry a step takes.

    A subclass of `ModelPrinter` prints a debug build: the same with more between the calls.
    """
    printer = (printer_class or ModelPrinter)(program, module)
    lines = [
        '#include "engine.h"',
        '#include "kernels.h"',
        "",
        *printer.ordinals(),
        "/* Packed weights: one stream per field of a format, for layer l. */",
        *printer.packs(),
        "",
        "/* State: keys, then values, of every layer. */",
        *printer.states(),
        "",
        "/* Buffers between kernels; those that are never live together share their place. */",
        *printer.buffers(),
        *printer.hooks(),
    ]
    for op in program.body.block.ops:
        if isinstance(op, engine.BlockOp):
            lines += ["", *printer.layer(op)]
    for entry in _entries(program):
        lines += ["", *printer.entry(entry)]
    return "\n".join([*lines, "", *printer.forward()]) + "\n"


class ModelPrinter:
    """Prints the parts of `model.c`; what debug builds add goes in at the methods without text."""

    def __init__(self, program: engine.ProgramOp, module: ModuleOp) -> None:
        self.program, self.module = program, module
        self.ops = list(program.body.block.ops)
        self.entries_ = _entries(program)
        self.kinds: dict[str, object] = {}
        for op in self.ops:
            if isinstance(op, engine.PackOp | engine.StateOp | engine.BufferOp):
                self.kinds[op.sym_name.data] = op
        self.tables = self._tables()

    def _tables(self) -> dict[LayersAttr, str]:
        """Layers that are not simply 0, 1, 2, ... need a table; equal ones share it."""
        found: dict[LayersAttr, str] = {}
        for op in self.ops:
            if isinstance(op, engine.PackOp | engine.StateOp) and op.layers is not None:
                numbers = list(op.layers)
                if numbers != list(range(len(numbers))):
                    found.setdefault(op.layers, f"nth_{len(found)}")
        return found

    def packs(self) -> Iterator[str]:
        for pack in self.ops:
            if not isinstance(pack, engine.PackOp):
                continue
            name = pack.sym_name.data
            for field, ctype in self._streams(name):
                stream = pack.streams.data[field]
                assert isinstance(stream, IntegerAttr)
                at = pack.offset.value.data + stream.value.data
                layer = ""
                if pack.layers is not None:
                    layer = f" + {pack.bytes.value.data}UL * {self._nth(pack.layers)}"
                head = f"W_{name}_{field}" + ("(l)" if pack.layers else "")
                yield f"#define {head} ((const {ctype} *)(m->weights + {at}UL{layer}))"

    def _streams(self, name: str) -> list[tuple[str, str]]:
        """Field and C type of each stream of a weight."""
        weight = lookup(self.module, name, infer.WeightOp)
        if not isinstance(weight.type.encoding, SymbolRefAttr):
            return [("w", "float")]
        format_ = weight_format(weight.type, self.module)
        types = format_.decode.block.args
        return [(f.data, element_ctype(a.type)) for f, a in zip(format_.fields, types, strict=True)]

    def states(self) -> Iterator[str]:
        for slab in self.ops:
            if not isinstance(slab, engine.StateOp):
                continue
            name = slab.sym_name.data
            state = lookup(self.module, name, infer.StateOp)
            nth = self._nth(slab.layers)
            base = f"m->state + {slab.offset.value.data}UL + {slab.bytes.value.data}UL * {nth}"
            ctype = element_ctype(state.k.element_type)
            yield f"#define S_{name}_k(l) (({ctype} *)({base}))"
            yield f"#define S_{name}_v(l) (({ctype} *)({base} + {key_bytes(state)}UL))"

    def buffers(self) -> Iterator[str]:
        for buffer in self.ops:
            if isinstance(buffer, engine.BufferOp):
                assert buffer.offset is not None
                name, at = buffer.sym_name.data, buffer.offset.value.data
                yield f"#define B_{name} ((float *)(m->arena + {at}UL))"

    def hooks(self) -> list[str]:
        """What stands before the functions, with an empty line first."""
        return []

    def begin(self, op: engine.EntryOp) -> Iterator[str]:
        """What an entry does before its first call."""
        yield from ()

    def barrier(self, op: engine.BarrierOp) -> Iterator[str]:
        """A barrier."""
        yield "mi_barrier(m->pool);"

    def layer(self, op: engine.BlockOp) -> list[str]:
        head = [
            f"static void {op.sym_name.data}(const struct mi_model *m, const struct mi_batch *b,",
            "    int layer, int part, int parts)",
        ]
        return [*head, "{", *indent(self._calls(op.body.block)), "}"]

    def entry(self, op: engine.EntryOp) -> list[str]:
        bounds = ", ".join(f"{a} to {b} {n}" for n, (a, b) in op.dims.as_dict().items())
        head = (
            f"static void {op.sym_name.data}(const struct mi_model *m, const struct mi_batch *b, "
            "int part, int parts)"
        )
        body = [*self.begin(op), *self._calls(op.body.block)]
        return [f"/* {bounds} */", head, "{", *indent(body), "}"]

    def forward(self) -> list[str]:
        lines: list[str] = []
        for entry in self.entries_[:-1]:
            last = entry.dims.as_dict()["tokens"][1]
            word = "else if" if lines else "if"
            lines += [f"{word} (b->tokens <= {last})", f"    {_entry_call(entry)}"]
        lines += (
            ["else", f"    {_entry_call(self.entries_[-1])}"]
            if lines
            else [_entry_call(self.entries_[-1])]
        )
        head = "void mi_forward(const struct mi_model *m, const struct mi_batch *b, int part, "
        return [f"{head}int parts)", "{", *indent(lines), "}"]

    def _calls(self, body: Block) -> Iterator[str]:
        for op in body.ops:
            if isinstance(op, engine.BarrierOp):
                yield from self.barrier(op)
            elif isinstance(op, engine.LayersOp):
                yield from self._layers(op)
            elif isinstance(op, engine.CallOp):
                yield from self.call(op)

    def _layers(self, op: engine.LayersOp) -> Iterator[str]:
        """One loop per run of layers, or one over all with a choice where kinds alternate."""
        steps = op.schedule.steps()
        if len(steps) <= MOST_RUNS:
            for name, first, last in steps:
                head = f"for (int layer = {first}; layer <= {last}; layer++)"
                yield from _body(head, self.run_layer(name))
            return
        names = list(dict.fromkeys(n for n, _, _ in steps))
        kinds = [names.index(n) for n, a, b in steps for _ in range(a, b + 1)]
        yield f"static const uint8_t kind[] = {{{', '.join(map(str, kinds))}}};"
        choice: list[str] = []
        for number, name in enumerate(names):
            test = f"if (kind[layer] == {number})" if number < len(names) - 1 else ""
            head = " ".join(["else"] * (number > 0) + [test] * bool(test))
            choice += _body(head, self.run_layer(name))
        yield from block(f"for (int layer = 0; layer < {len(kinds)}; layer++)", choice)

    def run_layer(self, name: str) -> list[str]:
        """Run one layer."""
        return [f"{name}(m, b, layer, part, parts);"]

    def ordinals(self) -> Iterator[str]:
        """Tables from a layer to its place among the layers that share a weight or state."""
        if not self.tables:
            return
        yield "/* A layer's place among those of its kind. */"
        for layers, name in self.tables.items():
            numbers = list(layers)
            places = [numbers.index(n) if n in numbers else 0 for n in range(numbers[-1] + 1)]
            yield f"static const uint16_t {name}[] = {{{', '.join(map(str, places))}}};"
        yield ""

    def _nth(self, layers: LayersAttr) -> str:
        """C expression for the place of layer `l` among `layers`."""
        name = self.tables.get(layers)
        return f"{name}[l]" if name else "l"

    def call(self, op: engine.CallOp) -> Iterator[str]:
        """A call of a kernel."""
        callee = lookup(self.module, op.callee.root_reference.data, kernel.FuncOp)
        outs = [
            n.data
            for n, t in zip(callee.outputs, callee.function_type.outputs, strict=True)
            if not isinstance(t, infer.StateType)
        ]
        names = [n.data for n in callee.arguments] + outs
        places: dict[str, Attribute] = dict(zip(names, [*op.ins, *op.outs], strict=True))
        texts = [self._argument(a, places) for a in signature(callee, self.module)]
        yield from _wrapped(f"{callee.sym_name.data}(", texts)

    def _argument(self, arg: CArg, places: dict[str, Attribute]) -> str:
        if arg.role in ("part", "parts"):
            return arg.role
        if arg.role == "dim":
            return f"b->{arg.name}"
        place = places[arg.source]
        if isinstance(place, UnitAttr):
            return "b"
        assert isinstance(place, SymbolRefAttr)
        name = place.root_reference.data
        target = self.kinds[name]
        if isinstance(target, engine.StateOp):
            return f"S_{name}_{arg.role.removeprefix('state_')}(layer)"
        if isinstance(target, engine.PackOp):
            return f"W_{name}_{arg.field or 'w'}" + ("(layer)" if target.layers else "")
        return f"B_{name}"


def _body(head: str, lines: list[str]) -> list[str]:
    """A statement with one line below it, or with a block of several."""
    return [head, f"    {lines[0]}"] if len(lines) == 1 else block(head, lines)


def _entry_call(entry: engine.EntryOp) -> str:
    return f"{entry.sym_name.data}(m, b, part, parts);"


def _wrapped(head: str, arguments: list[str]) -> Iterator[str]:
    """A call statement, broken so that it fits into 100 columns at its depth."""
    line = head
    for number, text in enumerate(arguments):
        text += ");" if number == len(arguments) - 1 else ","
        if len(line) + len(text) > 96 and line != head:
            yield line.rstrip()
            line = "    "
        line += text + " "
    yield line.rstrip()
