"""`expand-model`: the family's block templates become functions over the model's weights.

before: spec.model {arch = "llama", hparams, tensors}
after:  infer.weight / infer.state symbols, func @layer (one per kind of layer), func @forward

What follows is R0: evaluated in float64 it is the reference for quality.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Template
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Operation

from metainfer.ir.diagnostics import DiagnosticError, Note, Place, did_you_mean, error
from metainfer.ir.dialects import infer
from metainfer.ir.dims import LayersAttr, RangesAttr, ScheduleAttr
from metainfer.knowledge.base import Fragment, Knowledge
from metainfer.knowledge.contracts import Family, PerfRule, Slot, WeightMap
from metainfer.passes import expressions
from metainfer.passes.base import MetaPass
from metainfer.passes.context import knowledge_of
from metainfer.passes.imports import insert_symbol, parse_fragment
from metainfer.spec.view import SpecView, place_of

Type = TensorType[Attribute]
Table = Mapping[str, dict[int | None, Type]]
"""Tensor name with `{layer}` → layer (None: not per layer) → type."""


class ExpandModel(MetaPass):
    """Instantiates the family contract; the weight map must be total both ways."""

    name = "expand-model"
    summary: ClassVar[str] = "instantiate the model family: weights, layer functions, forward"
    requires: ClassVar[str] = "resolve-model"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        view = SpecView(op)
        self.need(view.model.tensors is not None and not _functions(op))
        _Expansion(op, view, knowledge_of(ctx)).run()


def _functions(module: ModuleOp) -> list[Operation]:
    return [op for op in module.ops if op.name == "func.func"]


def read_table(view: SpecView) -> Table:
    """The tensor table that `resolve-model` wrote, per layer."""
    table: dict[str, dict[int | None, Type]] = {}
    assert view.model.tensors is not None
    for pattern, runs in view.model.tensors.data.items():
        types: dict[int | None, Type] = {}
        for run in cast(ArrayAttr[ArrayAttr[Attribute]], runs):
            type_ = cast(Type, run.data[-1])
            layers = cast(LayersAttr, run.data[0]) if len(run) == 2 else [None]
            types |= dict.fromkeys(layers, type_)
        table[pattern] = types
    return table


@dataclass(frozen=True)
class _Class:
    """Layers that share one function."""

    kind: str
    name: str
    layers: list[int]


class _Expansion:
    """One run of the pass: names and numbers, then symbols, then functions."""

    def __init__(self, module: ModuleOp, view: SpecView, knowledge: Knowledge) -> None:
        self.module, self.view, self.knowledge = module, view, knowledge
        self.place: Place | None = place_of(view.model)
        assert view.model.arch is not None and view.model.hparams is not None
        arch = view.model.arch.data
        self.family = next(f for f in knowledge.all("family", Family) if arch in f.arch)
        self.map = knowledge.get(self.family.weight_map, WeightMap)
        self.table = read_table(view)
        self.numbers = _derived(
            {
                k: cast(IntegerAttr | FloatAttr, v).value.data
                for k, v in view.model.hparams.data.items()
            }
        )
        self.layers = int(self.numbers["layers"])

    def run(self) -> None:
        self.check_total()
        self.model_symbols()
        self.state_symbols()
        steps = []
        for number, one in enumerate(self.layer_classes()):
            suffix = f"_{number}" if number else ""
            for name, slot in self.map.layers.items():
                self.weight(f"{name}{suffix}", name, slot, one.layers)
            steps += [(one.name, a, b) for a, b in LayersAttr.of(one.layers).pairs()]
            self.instantiate("layer.mlir", self.layer_values(one, suffix))
        schedule = ScheduleAttr.of(sorted(steps, key=lambda s: s[1]))
        texts = self.slot_texts(self.map.model, "", None)
        self.instantiate("forward.mlir", {"schedule": str(schedule)} | texts)

    def layer_values(self, one: _Class, suffix: str) -> dict[str, str]:
        """Parameters of the layer template for one class of layers."""
        kind = self.family.kinds[one.kind]
        numbers = {k: self.number(v) for k, v in kind.numbers.items()}
        slots = self.slot_texts(self.map.layers, suffix, one.layers[0])
        values = {k: _literal(v) for k, v in numbers.items()} | slots
        window = f", window = {self.number(kind.window)} : i64" if kind.window else ""
        state = f"!infer.state<@{kind.state}>"
        return values | {"name": one.name, "state": state, "layer_window": window}

    def number(self, expression: str) -> int | float:
        return expressions.evaluate(expression, self.numbers)

    def check_total(self) -> None:
        """Every slot finds its tensor with the right shape; every tensor has a slot."""
        used: set[str] = set()
        for slots, layers in ((self.map.model, [None]), (self.map.layers, range(self.layers))):
            for name, slot in slots.items():
                used.add(slot.source)
                for layer in layers:
                    self.check_slot(name, slot, layer)
        unused = sorted(set(self.table) - used)
        extra = [
            p for p in used & set(self.table) for n in self.table[p] if (n or 0) >= self.layers
        ]
        if unused or extra:
            names = ", ".join(unused or sorted(set(extra)))
            raise error(
                f"{self.map.id} has no place for these tensors of the model: {names}", self.place
            )

    def check_slot(self, name: str, slot: Slot, layer: int | None) -> None:
        type_ = self.table.get(slot.source, {}).get(layer)
        if type_ is None:
            if slot.tied and layer is None:
                return
            wanted = slot.source.replace("{layer}", str(layer))
            raise error(
                f"the model has no tensor {wanted} for {name}",
                self.place,
                help=did_you_mean(slot.source, self.table),
            )
        shape = tuple(int(expressions.evaluate(s, self.numbers)) for s in slot.shape)
        if type_.get_shape() != shape:
            wanted = slot.source.replace("{layer}", str(layer))
            raise error(
                f"tensor {wanted} is {_by(type_.get_shape())}, {name} needs {_by(shape)}",
                self.place,
                notes=[Note(f"{self.map.id}: {name} is {' x '.join(slot.shape)}")],
            )

    def layer_classes(self) -> list[_Class]:
        """Layers of one kind with equal tensor types share a function; in order of first use."""
        classes: dict[tuple[str, tuple[Type, ...]], list[int]] = {}
        pattern = self.family.pattern
        for layer in range(self.layers):
            kind = pattern[layer % len(pattern)]
            types = tuple(self.table[s.source][layer] for s in self.map.layers.values())
            classes.setdefault((kind, types), []).append(layer)
        names: list[str] = []
        for kind, _ in classes:
            base = kind if kind == "layer" else f"layer_{kind}"
            names.append(f"{base}_{names.count(base)}" if base in names else base)
        return [
            _Class(kind, name, layers)
            for name, ((kind, _), layers) in zip(names, classes.items(), strict=True)
        ]

    def model_symbols(self) -> None:
        """Define the weights that are not per layer and have a tensor of their own."""
        for name, slot in self.map.model.items():
            if slot.source in self.table:
                self.weight(name, name, slot, None)

    def weight(self, symbol: str, slot_name: str, slot: Slot, layers: list[int] | None) -> None:
        first = layers[0] if layers else None
        op = infer.WeightOp.create(
            properties={
                "sym_name": StringAttr(symbol),
                "slot": StringAttr(slot_name),
                "source": StringAttr(slot.source),
                "type": self.table[slot.source][first],
            }
        )
        if layers:
            op.properties["layers"] = LayersAttr.of(layers)
        op.location = self.view.model.location
        insert_symbol(self.module, op)

    def state_symbols(self) -> None:
        """One state class per name that the kinds of layers use."""
        shape = [int(self.numbers["kv_heads"]), int(self.numbers["head_dim"])]
        slab = TensorType(Float32Type(), shape)
        pattern = self.family.pattern
        kinds = [pattern[n % len(pattern)] for n in range(self.layers)]
        for name in dict.fromkeys(self.family.kinds[k].state for k in kinds):
            mine = [n for n, k in enumerate(kinds) if self.family.kinds[k].state == name]
            op = infer.StateOp.create(
                properties={
                    "sym_name": StringAttr(name),
                    "k": slab,
                    "v": slab,
                    "layers": LayersAttr.of(mine),
                }
            )
            window = self.family.kinds[kinds[mine[0]]].window
            if window is not None:
                op.properties["window"] = IntegerAttr(int(self.number(window)), i64)
            op.location = self.view.model.location
            insert_symbol(self.module, op)

    def slot_texts(
        self, slots: Mapping[str, Slot], suffix: str, layer: int | None
    ) -> dict[str, str]:
        """Slot → `@symbol : type`, as a template writes it after `infer.weight_ref`."""
        texts = {}
        for name, slot in slots.items():
            types = self.table.get(slot.source) or self.table[slots[cast(str, slot.tied)].source]
            symbol = f"{name}{suffix}" if slot.source in self.table else cast(str, slot.tied)
            texts[name] = f"@{symbol} : {types[layer]}"
        return texts

    def instantiate(self, file: str, texts: Mapping[str, str]) -> None:
        """Fill in a block template and append its function."""
        fragment = self.knowledge.fragment(self.family.id, file)
        chunk = self.knowledge.get("perf_rule/cpu_entries", PerfRule).chunk
        tokens = min(chunk, self.view.max_context)
        dims = RangesAttr.of({"tokens": (1, tokens), "seqs": (1, self.view.max_batch)})
        values = {k: _literal(v) for k, v in self.numbers.items()}
        values |= {"dims": str(dims), "rope_pairing": self.map.rope_pairing, **texts}
        module = parse_fragment(Fragment(fragment.name, _filled(fragment, values)))
        for op in list(module.ops):
            op.detach()
            self.module.body.block.add_op(op)


def _filled(fragment: Fragment, values: Mapping[str, str]) -> str:
    try:
        return Template(fragment.text).substitute(values)
    except KeyError as missing:
        known = did_you_mean(str(missing).strip("'"), values)
        raise error(f"{fragment.name}: unknown parameter {missing}", help=known) from None
    except ValueError as problem:
        raise DiagnosticError(*error(f"{fragment.name}: {problem}").diagnostics) from None


def _derived(numbers: dict[str, int | float]) -> dict[str, int | float]:
    """Hyper-parameters and the sizes that follow from them."""
    head = numbers["head_dim"]
    return numbers | {
        "q_dim": numbers["q_heads"] * head,
        "kv_dim": numbers["kv_heads"] * head,
        "attn_scale": float(head) ** -0.5,
        "embed_scale": float(numbers["hidden"]) ** 0.5,
    }


def _literal(value: int | float) -> str:
    if isinstance(value, int):
        return str(value)
    text = f"{value:.17e}"
    return f"{text} : f64"


def _by(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape))
