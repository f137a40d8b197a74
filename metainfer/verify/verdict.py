"""What the gate says about a kernel. There is no default verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Status = Literal["verified", "marginal", "rejected", "infra_error"]

Stage = Literal[
    "complete",  # every stage passed
    "setup",  # our own machinery: library, child process, reference
    "static",  # an access, a bound or a branch that is not proven to be safe
    "guard",  # touched memory outside its buffers, or wrote an input
    "timeout",
    "crash",  # any other signal, or the process ended by itself
    "sanitizer",  # relies on what C leaves undefined
    "unwritten",  # an output element that no part writes
    "stale",  # the result depends on what outputs or unowned state held before
    "overlap",  # two parts write one element
    "parts",  # the result depends on the number of parts
    "class",  # NaN or infinity where the reference has none, or the reverse
    "exact",  # inexact although every product and sum is representable
    "bound",  # further from the reference than the numeric path allows
]


@dataclass(frozen=True)
class Failure:
    """One counter-example."""

    stage: Stage
    kernel: str
    shape: Mapping[str, int]
    """Size of each named dimension, and `start`, the position of the first token."""
    family: str
    """Family of the values of each input, in the bad row where there is one."""
    first_bad_index: tuple[int, ...] | None
    got: float | None
    want: float | None
    ratio: float | None
    """`|got - want|` over its bound."""
    detail: str


@dataclass(frozen=True)
class Verdict:
    """`verified` kernels only are linked; `infra_error` is neither pass nor fail."""

    status: Status
    stage: Stage
    worst_ratio: float
    """Largest error over its bound of all cases compared."""
    cases: int
    """Cases that ran to the end."""
    failure: Failure | None
