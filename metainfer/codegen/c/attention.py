"""C for state append and attention over the `kv_blocks16` layout of a state slab.

Keys: `[kv_head][block of 16 positions][head_dim][16]`, so lanes are positions when a query meets
keys; values: `[kv_head][position][head_dim]`, so lanes are head dimensions when they are summed.
Scores are taken at absolute positions and summed in ascending order, whatever the chunking.
"""

from __future__ import annotations

from metainfer.codegen.c.abi import element_ctype
from metainfer.codegen.c.text import block, share
from metainfer.ir.dialects import infer
from metainfer.passes.parts import UNIT
from metainfer.passes.sizes import padded_context


def state_append(
    op: infer.StateAppendOp, state: str, k: str, v: str, batch: str, slab: infer.StateOp
) -> list[str]:
    """Write this part's columns of the new keys and values."""
    heads, head = slab.k.get_shape()
    room = padded_context(slab.slots())
    width = heads * head
    ctype = element_ctype(slab.k.element_type)
    cast = "" if ctype == "float" else f"({ctype})"
    body = [
        f"const int32_t h = c / {head}, d = c % {head};",
        f"const size_t key = ((size_t)h * {room // 16} + slot / 16) * {head} + d;",
        f"{state}_k[key * 16 + slot % 16] = {cast}{k}[(size_t)t * {width} + c];",
        f"const size_t value = ((size_t)h * {room} + slot) * {head} + d;",
        f"{state}_v[value] = {cast}{v}[(size_t)t * {width} + c];",
    ]
    limit = f" && c < {width}" if width % UNIT else ""
    columns = block(f"for (int32_t c = u * {UNIT}; c < (u + 1) * {UNIT}{limit}; c++)", body)
    lines = [
        f"const int32_t slot = {batch}->slot[t];",
        *share("u", str(-(-width // UNIT)), columns),
    ]
    return block("for (int32_t t = 0; t < tokens; t++)", lines)


def attend(
    op: infer.AttendOp, q: str, state: str, batch: str, y: str, slab: infer.StateOp
) -> list[str]:
    """Causal attention of this part's query heads, one (token, head) at a time."""
    q_heads, kv_heads = op.q_heads.value.data, op.kv_heads.value.data
    head, room = op.head_dim.value.data, padded_context(slab.slots())
    ctype = element_ctype(slab.k.element_type)
    load = "mi_load_f16" if ctype == "_Float16" else "mi_load"
    scale = f"{op.scale.value.data!r}f"
    lines = [
        f"const float *qh = {q} + ((size_t)t * {q_heads} + h) * {head};",
        f"const {ctype} *keys = {state}_k + (size_t)(h / {q_heads // kv_heads}) * {room * head};",
        f"const {ctype} *values = {state}_v + (size_t)(h / {q_heads // kv_heads}) * {room * head};",
        f"const int32_t visible = {batch}->pos[t] + 1;",
        f"float score[{room}];",
        *_scores(head, load, scale),
        *_softmax(),
        *_values(head, load, f"{y} + ((size_t)t * {q_heads} + h) * {head}"),
    ]
    return share("h", str(q_heads), block("for (int32_t t = 0; t < tokens; t++)", lines))


def _scores(head: int, load: str, scale: str) -> list[str]:
    dot = [
        f"const vf key = {load}(keys + (size_t)j * {head} + d * 16 + n * MI_V);",
        "s[n] = mi_fma(key, mi_set(qh[d]), s[n]);",
    ]
    keep = [
        "const vi seen = mi_below(visible, j + n * MI_V);",
        f"s[n] = mi_select(seen, s[n] * {scale}, mi_set(-__builtin_inff()));",
        "top[n] = mi_max(s[n], top[n]);",
        "mi_store(score + j + n * MI_V, s[n]);",
    ]
    body = [
        "vf s[MI_N] = {{0}};",
        *block(
            f"for (int32_t d = 0; d < {head}; d++)",
            block("for (int32_t n = 0; n < MI_N; n++)", dot),
        ),
        *block("for (int32_t n = 0; n < MI_N; n++)", keep),
    ]
    return [
        "vf top[MI_N];",
        *block("for (int32_t n = 0; n < MI_N; n++)", ["top[n] = mi_set(-__builtin_inff());"]),
        *block("for (int32_t j = 0; j < visible; j += 16)", body),
    ]


def _softmax() -> list[str]:
    body = [
        "const vf p = mi_exp(mi_load(score + j + n * MI_V) - most);",
        "const vf kept = mi_select(mi_below(visible, j + n * MI_V), p, mi_set(0.0f));",
        "total[n] = total[n] + kept;",
        "mi_store(score + j + n * MI_V, kept);",
    ]
    return [
        "const vf most = mi_set(mi_top(top));",
        "vf total[MI_N] = {{0}};",
        *block(
            "for (int32_t j = 0; j < visible; j += 16)",
            block("for (int32_t n = 0; n < MI_N; n++)", body),
        ),
        "const float inverse = 1.0f / mi_sum(total);",
    ]


def _values(head: int, load: str, target: str) -> list[str]:
    """Sum weighted values; a head is walked in stretches of columns that stay in registers."""
    lines = []
    for start, width in _stretches(head):
        count = f"{width} / MI_V"
        body = [
            "const vf p = mi_set(score[j]);",
            *block(
                f"for (int32_t n = 0; n < {count}; n++)",
                [
                    f"const vf v = {load}(values + (size_t)j * {head} + {start} + n * MI_V);",
                    "o[n] = mi_fma(v, p, o[n]);",
                ],
            ),
        ]
        lines += block(
            "",
            [
                f"vf o[{count}] = {{{{0}}}};",
                *block("for (int32_t j = 0; j < visible; j++)", body),
                *block(
                    f"for (int32_t n = 0; n < {count}; n++)",
                    [f"mi_store({target} + {start} + n * MI_V, o[n] * inverse);"],
                ),
            ],
        )
    return lines


def _stretches(head: int) -> list[tuple[int, int]]:
    return [(start, min(64, head - start)) for start in range(0, head, 64)]
