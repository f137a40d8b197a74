"""Which layers a twin keeps: of each kind at least two, and a change from one kind to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from metainfer.ir.dialects import engine, infer
from metainfer.ir.dims import LayersAttr, ScheduleAttr

ROW, KIND = 2, 3
"""Layers that are kept of each row of one kind, and of each kind in all."""


@dataclass(frozen=True)
class Kept:
    """The layers of a twin."""

    numbers: frozenset[int]
    second: Mapping[int, int] = field(default_factory=dict)
    """The only layer of a kind, and the number of one that the twin has beside it."""

    def of(self, layers: Iterable[int]) -> list[int]:
        """Those of `layers` that the twin has, ascending."""
        mine = [n for n in layers if n in self.numbers]
        return sorted([*mine, *(self.second[n] for n in mine if n in self.second)])

    def steps(self, schedule: ScheduleAttr) -> Iterator[tuple[str, int, int]]:
        """The schedule of the twin, layer by layer."""
        for function, first, last in schedule.steps():
            for layer in range(first, last + 1):
                if layer in self.numbers:
                    yield function, layer, layer
                if layer in self.second:
                    yield function, self.second[layer], self.second[layer]


def schedules(module: ModuleOp) -> list[infer.LayersOp | engine.LayersOp]:
    """The ops of a module that run layers."""
    return [op for op in module.walk() if isinstance(op, infer.LayersOp | engine.LayersOp)]


def kept_layers(modules: Iterable[ModuleOp]) -> Kept:
    """Layers for the twins of these modules, the same for all."""
    found: set[int] = set()
    alone: set[int] = set()
    top = -1
    for op in (op for module in modules for op in schedules(module)):
        by_kind = _by_kind(op.schedule)
        found |= {n for layers in by_kind.values() for n in layers}
        alone |= {layers[0] for layers in by_kind.values() if len(layers) == 1}
        top = max([top, *(last for _, _, last in op.schedule.steps())])
    second = {layer: top + 1 + number for number, layer in enumerate(sorted(alone))}
    return Kept(frozenset(found), second)


def _by_kind(schedule: ScheduleAttr) -> dict[str, list[int]]:
    kinds: dict[str, list[int]] = {}
    for function, first, last in schedule.steps():
        mine = kinds.setdefault(function, [])
        mine += range(first, min(first + ROW - 1, last) + 1)
    return {function: mine[:KIND] for function, mine in kinds.items()}


def cut(module: ModuleOp, kept: Kept) -> None:
    """Leave only these layers in the module's schedules, weights and states."""
    running = schedules(module)
    for one in running:
        one.properties["schedule"] = ScheduleAttr.of(kept.steps(one.schedule))
    if not running:
        return
    for op in module.walk():
        if _per_layer(op):
            layers = op.properties["layers"]
            assert isinstance(layers, LayersAttr)
            op.properties["layers"] = LayersAttr.of(kept.of(layers))


def _per_layer(op: Operation) -> bool:
    stored = isinstance(op, infer.WeightOp | infer.StateOp | engine.PackOp | engine.StateOp)
    return stored and "layers" in op.properties
