"""C for state append and attention over the `kv_blocks16` layout of a state slab.

Keys: `[kv_head][block of 16 positions][head_dim][16]`, so lanes are positions when a query meets
keys; values: `[kv_head][position][head_dim]`, so lanes are head dimensions when they are summed.
Scores are taken at absolute positions and summed in ascending order, whatever the chunking.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    where = f"{batch}->slot[t]" + (f" % {room}" if slab.is_ring() else "")
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
        f"const int32_t slot = {where};",
        *share("u", str(-(-width // UNIT)), columns),
    ]
    return block("for (int32_t t = 0; t < tokens; t++)", lines)


def attend(
    op: infer.AttendOp, q: str, state: str, batch: str, y: str, slab: infer.StateOp
) -> list[str]:
    """Causal attention of this part's query heads, one (token, head) at a time.

    Scores of one token stand in `score`, that of position j at `j - first`; `first` is the start of
    the block of 16 positions in which the window begins.
    """
    q_heads, kv_heads = op.q_heads.value.data, op.kv_heads.value.data
    head, room = op.head_dim.value.data, padded_context(slab.slots())
    ctype = element_ctype(slab.k.element_type)
    group = f"(size_t)(h / {q_heads // kv_heads}) * {room * head}"
    window = op.window.value.data if op.window is not None else None
    shape = _Shape(
        head,
        "mi_load_f16" if ctype == "_Float16" else "mi_load",
        f" % {room}" if slab.is_ring() else "",
        window is not None,
    )
    places = room if window is None else min(room, padded_context(window + 16))
    lines = [
        f"const float *qh = {q} + ((size_t)t * {q_heads} + h) * {head};",
        f"const {ctype} *keys = {state}_k + {group};",
        f"const {ctype} *values = {state}_v + {group};",
        f"const int32_t visible = {batch}->pos[t] + 1;",
        *_begin(window),
        f"float score[{places}];",
        *_scores(shape, f"{op.scale.value.data!r}f"),
        *_softmax(shape),
        *_values(shape, f"{y} + ((size_t)t * {q_heads} + h) * {head}"),
    ]
    return share("h", str(q_heads), block("for (int32_t t = 0; t < tokens; t++)", lines))


@dataclass(frozen=True)
class _Shape:
    """What the loops of one attention depend on."""

    head: int
    load: str
    ring: str
    """` % room` where a slab is a ring, else nothing."""
    windowed: bool

    @property
    def seen(self) -> str:
        """Lanes of the block at j that the token sees."""
        below = "mi_below(visible, j + n * MI_V)"
        return f"{below} & ~mi_below(begin, j + n * MI_V)" if self.windowed else below

    @property
    def at(self) -> str:
        """Where in `score` position j stands."""
        return "score + j - first" if self.windowed else "score + j"

    @property
    def blocks(self) -> str:
        """A loop over the blocks of 16 positions that the token sees."""
        return f"for (int32_t j = {'first' if self.windowed else '0'}; j < visible; j += 16)"

    @property
    def row(self) -> str:
        """Row of position j in the value slab."""
        return f"(size_t)(j{self.ring})"


def _begin(window: int | None) -> list[str]:
    if window is None:
        return []
    return [
        f"const int32_t begin = visible > {window} ? visible - {window} : 0;",
        "const int32_t first = begin / 16 * 16;",
    ]


def _scores(shape: _Shape, scale: str) -> list[str]:
    dot = [
        f"const vf key = {shape.load}(block + d * 16 + n * MI_V);",
        "s[n] = mi_fma(key, mi_set(qh[d]), s[n]);",
    ]
    keep = [
        f"s[n] = mi_select({shape.seen}, s[n] * {scale}, mi_set(-__builtin_inff()));",
        "top[n] = mi_max(s[n], top[n]);",
        f"mi_store({shape.at} + n * MI_V, s[n]);",
    ]
    body = [
        f"const {_pointer(shape)}block = keys + {shape.row} * {shape.head};",
        "vf s[MI_N] = {{0}};",
        *block(
            f"for (int32_t d = 0; d < {shape.head}; d++)",
            block("for (int32_t n = 0; n < MI_N; n++)", dot),
        ),
        *block("for (int32_t n = 0; n < MI_N; n++)", keep),
    ]
    return [
        "vf top[MI_N];",
        *block("for (int32_t n = 0; n < MI_N; n++)", ["top[n] = mi_set(-__builtin_inff());"]),
        *block(shape.blocks, body),
    ]


def _pointer(shape: _Shape) -> str:
    return "_Float16 *" if shape.load == "mi_load_f16" else "float *"


def _softmax(shape: _Shape) -> list[str]:
    body = [
        f"const vf p = mi_exp(mi_load({shape.at} + n * MI_V) - most);",
        f"const vf kept = mi_select({shape.seen}, p, mi_set(0.0f));",
        "total[n] = total[n] + kept;",
        f"mi_store({shape.at} + n * MI_V, kept);",
    ]
    return [
        "const vf most = mi_set(mi_top(top));",
        "vf total[MI_N] = {{0}};",
        *block(shape.blocks, block("for (int32_t n = 0; n < MI_N; n++)", body)),
        "const float inverse = 1.0f / mi_sum(total);",
    ]


def _values(shape: _Shape, target: str) -> list[str]:
    """Sum weighted values; a head is walked in stretches of columns that stay in registers."""
    lines = []
    start_at = "begin" if shape.windowed else "0"
    for start, width in _stretches(shape.head):
        count = f"{width} / MI_V"
        add = [
            f"const vf v = {shape.load}(value + {start} + n * MI_V);",
            "o[n] = mi_fma(v, p, o[n]);",
        ]
        body = [
            f"const vf p = mi_set(({shape.at})[0]);",
            f"const {_pointer(shape)}value = values + {shape.row} * {shape.head};",
            *block(f"for (int32_t n = 0; n < {count}; n++)", add),
        ]
        lines += block(
            "",
            [
                f"vf o[{count}] = {{{{0}}}};",
                *block(f"for (int32_t j = {start_at}; j < visible; j++)", body),
                *block(
                    f"for (int32_t n = 0; n < {count}; n++)",
                    [f"mi_store({target} + {start} + n * MI_V, o[n] * inverse);"],
                ),
            ],
        )
    return lines


def _stretches(head: int) -> list[tuple[int, int]]:
    return [(start, min(64, head - start)) for start in range(0, head, 64)]
