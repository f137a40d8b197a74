"""C for `linear` and `embed` over matrices in a `rows` layout: lanes are output rows.

The order of every sum is fixed by the numeric path: blocks of k ascending, one float accumulator
per output row, each term added by a fused multiply-add. Token tiles only share weight loads, so a
token's result does not depend on its company.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue

from metainfer.codegen.c.abi import element_ctype
from metainfer.codegen.c.decode import ONE_ROW, ROWS, BlockDecoder, Segment
from metainfer.codegen.c.text import block, partial_accesses, share, whole_accesses
from metainfer.codegen.packing import field_shape
from metainfer.ir.dialects import infer
from metainfer.ir.dims import sizes
from metainfer.passes.sizes import weight_format

TILE = 4
"""Tokens whose accumulators fit in the vector registers of every instruction set."""


def _streams(
    format_: infer.FormatOp, weight: str, where: str
) -> tuple[list[str], list[str], list[str]]:
    """Pointers to the current block in each stream: their names, C types and declarations."""
    names, ctypes, lines = [], [], []
    for field, argument in zip(format_.fields, format_.decode.block.args, strict=True):
        count, _ = field_shape(argument.type)
        ctype, name = element_ctype(argument.type), f"{field.data}b"
        offset = f"({where}) * MI_LANES" if count == 1 else f"({where}) * {count} * MI_LANES"
        lines.append(f"const {ctype} *{name} = {weight}_{field.data} + {offset};")
        names.append(name)
        ctypes.append(ctype)
    return names, ctypes, lines


def _matrix(value: SSAValue) -> TensorType[Attribute]:
    assert isinstance(value.type, TensorType)
    return value.type


def linear(
    op: infer.LinearOp,
    x: str,
    weight: str,
    bias: str | None,
    y: str,
    rows: str,
    module: ModuleOp,
) -> list[str]:
    """`y[t][r] = sum_k x[t][k] * w[r][k] (+ bias[r])` for this part's groups of 16 rows.

    `rows` is the C expression for the number of input rows; the bias is added to the whole sum.
    """
    out_rows, cols = (int(s) for s in sizes(op.weight.type))
    format_ = weight_format(_matrix(op.weight), module)
    most = 1 if rows == "seqs" else TILE
    body = ["int32_t t = 0;"]
    if most > 1:
        head = f"for (; t + {TILE} <= {rows}; t += {TILE})"
        tile = _tile(TILE, x, weight, cols, format_)
        body += block(head, tile + _store(TILE, bias, y, out_rows))
    tile = _tile(1, x, weight, cols, format_)
    body += block(f"for (; t < {rows}; t++)", tile + _store(1, bias, y, out_rows))
    return share("g", str(-(-out_rows // 16)), body)


def _tile(tokens: int, x: str, weight: str, cols: int, format_: infer.FormatOp) -> list[str]:
    values = format_.block.value.data
    blocks = cols // values
    names, ctypes, pointers = _streams(format_, weight, f"(size_t)g * {blocks} + b")
    decoder = BlockDecoder(format_, names, ctypes, ROWS)
    segments = decoder.segments()
    lines = [f"const float *x{i} = {x} + (size_t)(t + {i}) * {cols};" for i in range(tokens)]
    lines += [f"vf a{i}[MI_N] = {{{{0}}}};" for i in range(tokens)] + _tables(decoder)
    inner = pointers + _shared(decoder.shared)
    for segment in segments:
        inner += _segment(segment, tokens, values)
    return lines + block(f"for (int32_t b = 0; b < {blocks}; b++)", inner)


def _tables(decoder: BlockDecoder) -> list[str]:
    return [f"const {kind} {n}[] = {text};" for n, (kind, text) in decoder.tables.items()]


def _shared(values: dict[str, str]) -> list[str]:
    """Values that many weights have in common, for all 16 rows."""
    if not values:
        return []
    lines = ["vf " + ", ".join(f"{name}[MI_N]" for name in values) + ";"]
    fill = [f"{name}[n] = {text};" for name, text in values.items()]
    return lines + block("for (int32_t n = 0; n < MI_N; n++)", fill)


def _segment(segment: Segment, tokens: int, values: int) -> list[str]:
    offset = f" + {segment.start}" if segment.start else ""
    index = f"b * {values}{offset} + j" if values > 1 else "b"
    body = [f"const vf w = {segment.expression};"]
    body += [f"a{i}[n] = mi_fma(w, mi_set(x{i}[{index}]), a{i}[n]);" for i in range(tokens)]
    lanes = block("for (int32_t n = 0; n < MI_N; n++)", body)
    loop = block(f"for (int32_t j = 0; j < {segment.length}; j++)", lanes)
    return block("", [*_shared(segment.shared), *loop]) if segment.shared else loop


def _store(tokens: int, bias: str | None, y: str, rows: int) -> list[str]:
    """Write the sums of a tile; rows beyond the matrix have none."""
    add = f" + LOAD({bias} + r)" if bias else ""
    lines = [f"STORE({y} + (size_t)(t + {i}) * {rows} + r, a{i}[n]{add});" for i in range(tokens)]
    head = "for (int32_t n = 0, r = g * MI_LANES; n < MI_N; n++, r += MI_V)"
    if rows % 16 == 0:
        return block(head, whole_accesses(lines))
    limit = [f"const int32_t rest = {rows} - r < MI_V ? {rows} - r : MI_V;"]
    body = limit + partial_accesses(lines, "rest")
    return block(head.replace("n < MI_N;", f"n < MI_N && r < {rows};"), body)


def embed(op: infer.EmbedOp, batch: str, weight: str, y: str, module: ModuleOp) -> list[str]:
    """`y[t] = w[ids[t]]` for this part's tokens."""
    _, cols = (int(s) for s in sizes(op.weight.type))
    format_ = weight_format(_matrix(op.weight), module)
    values = format_.block.value.data
    blocks = cols // values
    names, ctypes, pointers = _streams(format_, weight, f"(size_t)(id / MI_LANES) * {blocks} + b")
    decoder = BlockDecoder(format_, names, ctypes, ONE_ROW)
    segments = decoder.segments()
    inner = pointers + _scalars(decoder.shared)
    for segment in segments:
        target = f"row[b * {values} + {segment.start} + j]"
        loop = block(
            f"for (int32_t j = 0; j < {segment.length}; j++)",
            [f"{target} = {segment.expression};"],
        )
        inner += block("", [*_scalars(segment.shared), *loop]) if segment.shared else loop
    body = [
        f"const int32_t id = {batch}->ids[t], lane = id % MI_LANES;",
        f"float *row = {y} + (size_t)t * {cols};",
        *_tables(decoder),
        *block(f"for (int32_t b = 0; b < {blocks}; b++)", inner),
    ]
    return share("t", "tokens", body)


def _scalars(values: dict[str, str]) -> list[str]:
    return [f"const float {name} = {text};" for name, text in values.items()]
