"""What a called function touches, and what it returns: by name, all else is a finding.

Widths are in bytes, or in lanes where vectors have `MI_V` of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from metainfer.verify.sandbox.allowed import allowed_in
from metainfer.verify.static.values import DOUBLE, FLOAT, INT, TYPES, VF, VI, CType

Touch = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Touched:
    """The memory behind the first argument; a `lanes` width is in elements of that size."""

    touch: Touch
    bytes: int = 0
    lanes: int = 0
    counted: bool = False
    """Whether the last argument says how many lanes."""
    arguments: int = 0
    """How many there are; as many as its kind of access needs if 0."""

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        needed = 1 + (self.touch == "write") + self.counted
        return count == (self.arguments or needed)

    def width(self, lanes: int) -> int:
        return self.bytes + self.lanes * lanes


TOUCHES: dict[str, Touched] = {
    "mi_load": Touched("read", lanes=4),
    "mi_load_f32": Touched("read", lanes=4),
    "mi_load_n": Touched("read", lanes=4, counted=True),
    "mi_load_f16": Touched("read", lanes=2),
    "mi_load_bf16": Touched("read", lanes=2),
    "mi_load_u8": Touched("read", lanes=1),
    "mi_store": Touched("write", lanes=4),
    "mi_store_n": Touched("write", lanes=4, counted=True),
    "mi_sum": Touched("read", bytes=64),
    "mi_top": Touched("read", bytes=64),
    "_mm_loadl_epi64": Touched("read", bytes=8),
    "_mm256_broadcast_ss": Touched("read", bytes=4),
    # A mask hides lanes, but which ones no proof here knows: as if it hid none.
    "_mm256_maskload_ps": Touched("read", bytes=32, arguments=2),
    "_mm256_maskstore_ps": Touched("write", bytes=32, arguments=3),
    **{
        f"_mm{bits}_{verb}u_{kind}": Touched("read" if verb == "load" else "write", bytes=size)
        for bits, size in (("", 16), ("256", 32), ("512", 64))
        for verb in ("load", "store")
        for kind in ("ps", "si128", "si256", "si512")
    },
}
"""Calls whose first argument is a pointer."""

LOOKUPS = {"mi_lookup": VF, "mi_lookup_one": FLOAT}
"""An element of the table that is the first argument, at the second."""

_MATH = "tan log nearbyint nearbyintf fmod fmodf expm1f logf tanh floor ceil rint round trunc"
_RESULTS: dict[str, CType] = {
    "mi_load_u8": VI,
    "mi_below": VI,
    "mi_bf16": FLOAT,
    "mi_sum": FLOAT,
    "mi_top": FLOAT,
    "_mm_cvtss_f32": FLOAT,
    "_mm_cvtsi128_si32": INT,
}


@cache
def pure_calls() -> dict[str, int]:
    """Functions of values alone, with their number of arguments."""
    known = dict.fromkeys(_MATH.split(), 1) | {"fmod": 2, "fmodf": 2}
    for isa in ("avx2", "avx512_vnni"):
        letters = allowed_in(isa).calls
        known |= {n: len(w) for n, w in letters.items() if set(w) <= {"x"}}
    return known


def result_of(name: str) -> CType:
    """The type of what a call returns."""
    if known := _RESULTS.get(name):
        return known
    if name.startswith("mi_"):
        return VF
    if name.startswith("_mm"):
        bits = name.split("_")[1].removeprefix("mm") or "128"
        return TYPES[f"__m{bits}i" if "epi" in name or "_si" in name else f"__m{bits}"]
    return FLOAT if name.endswith("f") else DOUBLE
