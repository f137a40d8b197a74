"""C for the ops that are no matrix product and no attention."""

from __future__ import annotations

import math

from xdsl.ir import Attribute

from metainfer.codegen.c.text import block, column_loop, share
from metainfer.ir.dialects import infer
from metainfer.ir.dims import sizes
from metainfer.passes.parts import UNIT, axis_of


def _float(value: float) -> str:
    return f"{value!r}f"


def _columns(type_: Attribute) -> int:
    return int(sizes(type_)[-1])


def rms_norm(op: infer.RmsNormOp, x: str, weight: str, y: str, rows: str) -> list[str]:
    """Each part normalises its own rows, or its own heads of all rows.

    The sum of squares runs in 16 lanes, then over them.
    """
    n, run = _columns(op.x.type), _columns(op.weight.type)
    tail, whole = run % UNIT, run - run % UNIT
    at = f"(size_t)t * {n}" + (f" + h * {run}" if run < n else "")
    lines = [f"const size_t at = {at};", f"const float *xr = {x} + at;", "vf a[MI_N] = {{0}};"]
    step = ["const vf v = mi_load(xr + c + n * MI_V);", "a[n] = mi_fma(v, v, a[n]);"]
    if whole:
        lines += block(
            f"for (int32_t c = 0; c < {whole}; c += MI_LANES)",
            block("for (int32_t n = 0; n < MI_N; n++)", step),
        )
    lines.append("float sum = mi_sum(a);")
    if tail:
        lines += block(
            f"for (int32_t c = {whole}; c < {run}; c++)",
            ["sum = __builtin_fmaf(xr[c], xr[c], sum);"],
        )
    eps = _float(op.eps.value.data)
    lines.append(f"const float scale = 1.0f / __builtin_sqrtf(sum / {run} + {eps});")
    lines += block(
        f"for (int32_t c = 0; c < {run}; c++)", [f"{y}[at + c] = xr[c] * scale * {weight}[c];"]
    )
    if run == n:
        return share("t", rows, lines)
    return share("h", str(n // run), block(f"for (int32_t t = 0; t < {rows}; t++)", lines))


def rope(op: infer.RopeOp, x: str, batch: str, y: str) -> list[str]:
    """Angles in double, so that far positions stay exact; one rounding of sine and cosine."""
    n, head = _columns(op.x.type), op.head_dim.value.data
    half = head // 2
    theta = op.theta.value.data
    frequencies = ", ".join(repr(theta ** (-2.0 * i / head)) for i in range(half))
    adjacent = op.pairing.data == "interleaved"
    columns = axis_of(op) == "columns"
    first, second = ("2 * i", "2 * i + 1") if adjacent else ("i", f"i + {half}")
    rotate = [
        f"const float *xh = {x} + (size_t)t * {n} + h * {head};",
        f"float *yh = {y} + (size_t)t * {n} + h * {head};",
        f"const float u = xh[{first}], v = xh[{second}];",
        f"yh[{first}] = __builtin_fmaf(u, cosine[i], -(v * sine[i]));",
        f"yh[{second}] = __builtin_fmaf(v, cosine[i], u * sine[i]);",
    ]
    if columns:
        pairs = [f"const int32_t h = c / {head}, i = c % {head} / 2;", *rotate]
        units = block(f"for (int32_t c = p * {UNIT}; c < (p + 1) * {UNIT}; c += 2)", pairs)
        loop = share("p", str(n // UNIT), units)
    else:
        loop = share("h", str(n // head), block(f"for (int32_t i = 0; i < {half}; i++)", rotate))
    angle = [
        f"const double angle = {batch}->pos[t] * frequency[i];",
        "cosine[i] = (float)cos(angle);",
        "sine[i] = (float)sin(angle);",
    ]
    return [
        f"const double frequency[{half}] = {{{frequencies}}};",
        f"float cosine[{half}], sine[{half}];",
        *block(
            "for (int32_t t = 0; t < tokens; t++)",
            [*block(f"for (int32_t i = 0; i < {half}; i++)", angle), *loop],
        ),
    ]


def add(op: infer.AddOp, a: str, b: str, y: str, rows: str) -> list[str]:
    n = _columns(op.result.type)
    return _elementwise(n, rows, [f"STORE({y} + at, LOAD({a} + at) + LOAD({b} + at));"])


def gated_act(op: infer.GatedActOp, gate: str, up: str, y: str, rows: str) -> list[str]:
    """act(z) = z / (1 + e^-v(z)): e^-v may overflow to infinity, then the quotient is -0."""
    n = _columns(op.result.type)
    return _elementwise(
        n,
        rows,
        [
            f"const vf z = LOAD({gate} + at);",
            *_INNER[op.act.data],
            f"STORE({y} + at, z / (1.0f + mi_exp(-v)) * LOAD({up} + at));",
        ],
    )


_GELU = 2 * math.sqrt(2 / math.pi)
_INNER = {
    "silu": ["const vf v = z;"],
    "gelu_tanh": [
        f"const vf cubic = mi_set({_float(_GELU * 0.044715)});",
        f"const vf v = z * mi_fma(cubic, z * z, mi_set({_float(_GELU)}));",
    ],
}
"""v(z) of each activation."""


def scale(op: infer.ScaleOp, x: str, y: str, rows: str) -> list[str]:
    n = _columns(op.result.type)
    factor = _float(op.factor.value.data)
    return _elementwise(n, rows, [f"STORE({y} + at, LOAD({x} + at) * {factor});"])


def _elementwise(columns: int, rows: str, lines: list[str]) -> list[str]:
    at = [f"const size_t at = (size_t)t * {columns} + c;"]
    return block(f"for (int32_t t = 0; t < {rows}; t++)", column_loop(columns, at + lines))


def select_last(op: infer.SelectLastOp, x: str, batch: str, y: str) -> list[str]:
    n = _columns(op.result.type)
    lines = [
        f"const size_t last = (size_t)({batch}->q_start[s + 1] - 1) * {n};",
        *column_loop(n, [f"STORE({y} + (size_t)s * {n} + c, LOAD({x} + last + c));"]),
    ]
    return block("for (int32_t s = 0; s < seqs; s++)", lines)
