"""Run one case in every way that must not matter: placement, poison, parts and their order.

What a kernel wrote is told from what it left by poison: a signalling NaN that no arithmetic yields
and no input holds. A result must not depend on what outputs or unowned state held, and all parts
together must write each element exactly once, with the same bits for any number of parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metainfer.verify.driver import Child
from metainfer.verify.faults import KernelFault
from metainfer.verify.memory import Buffer, Bytes, Placement
from metainfer.verify.verdict import Stage

Words = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

POISONS = (np.array([0x7FA5A5A5], "<u4").tobytes(), np.array([0xFEFFFC99], "<u4").tobytes())
"""A signalling NaN, and -1.7e38."""
PARTS = (1, 2, 3, 7)


@dataclass(frozen=True)
class Output:
    """A writable buffer: `before[i]` is what it holds in variant i of a run (poison or a state)."""

    name: str
    before: tuple[Bytes, Bytes]
    shape: tuple[int, ...]
    """In memory."""
    width: int
    """Bytes of an element."""
    total: bool
    """Whether every element must be written; a state keeps what the kernel does not own."""

    def words(self, raw: Bytes) -> Words:
        return raw.view(f"<u{self.width}")

    def written(self, raw: Bytes, variant: int) -> Mask:
        changed: Mask = self.words(raw) != self.words(self.before[variant])
        return changed


@dataclass(frozen=True)
class Call:
    """A kernel's memory and arguments for one case; `inputs[i]` are those of variant i."""

    inputs: tuple[list[Buffer], list[Buffer]]
    outputs: list[Output]
    arguments: Sequence[Any]

    def buffers(self, variant: int) -> list[Buffer]:
        """All buffers in the order that the arguments number them: outputs first."""
        outputs = [Buffer(o.name, o.before[variant], o.width, True) for o in self.outputs]
        return outputs + self.inputs[variant]


def poisoned(name: str, shape: tuple[int, ...]) -> Output:
    """An f32 result."""
    count = math.prod(shape)
    first, second = (np.frombuffer(p * count, np.uint8) for p in POISONS)
    return Output(name, (first, second), shape, 4, True)


def execute(child: Child, call: Call, *, full: bool) -> Mapping[str, Bytes]:
    """What each writable buffer holds after the call on variant 0.

    `full` calls each part on its own for every number of parts; otherwise one run in three parts
    is compared with one run in one.
    """
    first = _run(child, call, 0, [(0, 1)], "end")
    calls = [(0, 1)] if full else [(2, 3), (0, 3), (1, 3)]
    second = _run(child, call, 1, calls, "start")
    for output in call.outputs:
        _check_variants(output, first[output.name], second[output.name], full)
    if full:
        for parts in PARTS[1:]:
            _check_parts(child, call, first, parts)
    return first


def _run(
    child: Child,
    call: Call,
    variant: int,
    calls: Sequence[tuple[int, int]],
    placement: Placement,
) -> dict[str, Bytes]:
    buffers = call.buffers(variant)
    return child.run(buffers, call.arguments, calls, placement, POISONS[variant])


def _check_variants(output: Output, first: Bytes, second: Bytes, full: bool) -> None:
    written = (output.written(first, 0), output.written(second, 1))
    either = written[0] | written[1]
    if output.total:
        _refuse(output, ~either, "unwritten", "is not written", first)
    unequal = either & (output.words(first) != output.words(second))
    reason = "depends on earlier calls or on what outputs or unowned state held"
    if not full:
        reason += ", or on the number of parts"
    _refuse(output, unequal, "stale", reason, second, first)


def _check_parts(child: Child, call: Call, whole: Mapping[str, Bytes], parts: int) -> None:
    counts = {o.name: np.zeros(whole[o.name].size // o.width, np.int32) for o in call.outputs}
    merged = {o.name: o.before[0].copy() for o in call.outputs}
    placement: Placement = "start" if parts % 3 == 0 else "end"
    for part in reversed(range(parts)):
        result = _run(child, call, 0, [(part, parts)], placement)
        for output in call.outputs:
            written = output.written(result[output.name], 0)
            counts[output.name] += written
            target = output.words(merged[output.name])
            target[written] = output.words(result[output.name])[written]
    how = f"with {parts} parts"
    for output in call.outputs:
        count, got, want = counts[output.name], merged[output.name], whole[output.name]
        _refuse(output, count > 1, "overlap", f"is written by two parts {how}", got)
        if output.total:
            _refuse(output, count == 0, "unwritten", f"is not written {how}", got)
        differs = output.words(got) != output.words(want)
        _refuse(output, differs, "parts", f"differs {how}", got, want)


def _refuse(
    output: Output,
    wrong: Mask,
    stage: Stage,
    reason: str,
    got: Bytes,
    want: Bytes | None = None,
) -> None:
    if not wrong.any():
        return
    index = int(wrong.argmax())
    name = output.name.removeprefix("out:")
    raise KernelFault(
        stage,
        f"'{name}' {reason} ({int(wrong.sum())} of {wrong.size} elements)",
        index=tuple(int(i) for i in np.unravel_index(index, output.shape)),
        got=_element(output, got, index),
        want=None if want is None else _element(output, want, index),
    )


def _element(output: Output, raw: Bytes, index: int) -> float:
    return float(raw.view("<f4" if output.width == 4 else "<f2")[index])
