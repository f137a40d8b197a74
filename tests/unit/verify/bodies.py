"""Kernels and correct C bodies written by hand; tests spoil a body by replacing one fragment."""

HEADER = r"""
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct mi_batch {
    int32_t tokens, seqs;
    const int32_t *ids, *pos, *row, *q_start, *kv_len, *slot;
};
"""

SYMBOLS = """
infer.format @q4_1 attributes {block = 32 : i64, bytes = 20 : i64, contract = "quant/q4_1", \
fields = ["d", "m", "qs"], hash = "00", type_id = 3 : i64} {
^bb0(%d: f16, %m: f16, %qs: vector<16xi8>):
  %low_mask = arith.constant dense<15> : vector<16xi8>
  %four = arith.constant dense<4> : vector<16xi8>
  %low = arith.andi %qs, %low_mask : vector<16xi8>
  %high = arith.shrui %qs, %four : vector<16xi8>
  %nibbles = infer.concat %low, %high : vector<32xi8>
  %q = infer.cast %nibbles : vector<32xf32>
  %scale = infer.cast %d : vector<32xf32>
  %min = infer.cast %m : vector<32xf32>
  %scaled = arith.mulf %q, %scale : vector<32xf32>
  %w = arith.addf %scaled, %min : vector<32xf32>
  infer.decoded %w
}
infer.format @f32 attributes {block = 1 : i64, bytes = 4 : i64, contract = "quant/f32", \
fields = ["w"], hash = "00", type_id = 0 : i64} {
^bb0(%w: vector<1xf32>):
  infer.decoded %w
}
infer.layout @rows16 {align = 64 : i64, contract = "layout/rows16", hash = "00", lanes = 16 : i64}
infer.path @path {accumulate = "f32", contract = "numeric_path/f32_rows16", fma = 1 : i64, \
hash = "00", order = "k ascending"}
"""

STATE = """
infer.state @kv {context = 70 : i64, k = tensor<2x8xf32>, layers = #infer.layers<0 to 0>, \
layout = @kv_blocks16, room = 70 : i64, v = tensor<2x8xf32>}
"""

ADD = """
kernel.func @add(%a: tensor<?x24xf32, #infer.dims<tokens, _>>, \
%b: tensor<?x24xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x24xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 5 to 40>, parts = "columns", path = @path} {
  %0 = infer.add %a, %b : tensor<?x24xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""

ADD_BODY = r"""
void add(int32_t tokens, const float *a, const float *b, float *y, int32_t part, int32_t parts)
{
    for (int32_t c = 24 * part / parts; c < 24 * (part + 1) / parts; c++)
        for (int32_t t = 0; t < tokens; t++)
            y[t * 24 + c] = a[t * 24 + c] + b[t * 24 + c];
}
"""

RMS_NORM = """
kernel.func @norm(%x: tensor<?x40xf32, #infer.dims<tokens, _>>, %w: tensor<40xf32>) \
-> (y: tensor<?x40xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 4>, parts = "tokens", path = @path} {
  %0 = infer.rms_norm %x, %w {eps = 1.0e-05 : f64} : tensor<?x40xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""

RMS_NORM_BODY = r"""
void norm(int32_t tokens, const float *x, const float *w, float *y, int32_t part, int32_t parts)
{
    for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
        float sum = 0.0f;
        for (int32_t c = 0; c < 40; c++)
            sum += x[t * 40 + c] * x[t * 40 + c];
        const float scale = 1.0f / sqrtf(sum / 40 + 1e-5f);
        for (int32_t c = 0; c < 40; c++)
            y[t * 40 + c] = x[t * 40 + c] * scale * w[c];
    }
}
"""

LINEAR = """
kernel.func @linear(%x: tensor<?x64xf32, #infer.dims<tokens, _>>, \
%w: tensor<40x64x!infer.q<"q4_1">, @rows16>) -> (y: tensor<?x40xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 20>, parts = "rows", path = @path} {
  %0 = infer.linear %x, %w : tensor<?x40xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""

LINEAR_BODY = r"""
void linear(int32_t tokens, const float *x, const _Float16 *w_d, const _Float16 *w_m,
            const uint8_t *w_qs, float *y, int32_t part, int32_t parts)
{
    for (int32_t r = 40 * part / parts; r < 40 * (part + 1) / parts; r++)
        for (int32_t t = 0; t < tokens; t++) {
            float sum = 0.0f;
            for (int32_t b = 0; b < 2; b++) {
                const int32_t at = (r / 16 * 2 + b) * 16;
                const float d = w_d[at + r % 16], m = w_m[at + r % 16];
                for (int32_t k = 0; k < 32; k++) {
                    const uint8_t byte = w_qs[(at + k % 16) * 16 + r % 16];
                    const float q = k < 16 ? byte & 15 : byte >> 4;
                    sum += x[t * 64 + b * 32 + k] * (d * q + m);
                }
            }
            y[t * 40 + r] = sum;
        }
}
"""

EMBED = """
kernel.func @embed(%b: !infer.batch, %w: tensor<100x8xf32, @rows16>) \
-> (y: tensor<?x8xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "tokens", path = @path} {
  %0 = infer.embed %b, %w : tensor<?x8xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""

EMBED_BODY = r"""
void embed(int32_t tokens, const struct mi_batch *b, const float *w_w, float *y,
           int32_t part, int32_t parts)
{
    for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++)
        for (int32_t c = 0; c < 8; c++)
            y[t * 8 + c] = w_w[(b->ids[t] / 16 * 8 + c) * 16 + b->ids[t] % 16];
}
"""

LAST = """
kernel.func @last(%x: tensor<?x8xf32, #infer.dims<tokens, _>>, %b: !infer.batch) \
-> (y: tensor<?x8xf32, #infer.dims<seqs, _>>) \
{dims = #infer.ranges<tokens = 1 to 9, seqs = 1 to 3>, parts = "columns", path = @path} {
  %0 = infer.select_last %x, %b : tensor<?x8xf32, #infer.dims<seqs, _>>
  kernel.return %0
}
"""

LAST_BODY = r"""
void last(int32_t tokens, int32_t seqs, const float *x, const struct mi_batch *b, float *y,
          int32_t part, int32_t parts)
{
    for (int32_t c = 8 * part / parts; c < 8 * (part + 1) / parts; c++)
        for (int32_t s = 0; s < seqs; s++)
            y[s * 8 + c] = x[(b->q_start[s + 1] - 1) * 8 + c];
}
"""

ACT = """
kernel.func @act(%g: tensor<?x24xf32, #infer.dims<tokens, _>>, \
%u: tensor<?x24xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x24xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 4>, parts = "none", path = @path} {
  %0 = infer.gated_act %g, %u {act = "silu"} : tensor<?x24xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""

ACT_BODY = r"""
void act(int32_t tokens, const float *g, const float *u, float *y, int32_t part, int32_t parts)
{
    if (part)
        return;
    for (int32_t i = 0; i < tokens * 24; i++)
        y[i] = g[i] / (1.0f + expf(-g[i])) * u[i];
}
"""

ROPE = """
kernel.func @rope(%x: tensor<?x16xf32, #infer.dims<tokens, _>>, %b: !infer.batch) \
-> (y: tensor<?x16xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 4, seqs = 1 to 1>, parts = "heads", path = @path} {
  %0 = infer.rope %x, %b {head_dim = 8 : i64, pairing = "half", theta = 1.0e+05 : f64} \
: tensor<?x16xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""

ROPE_BODY = r"""
void rope(int32_t tokens, const float *x, const struct mi_batch *b, float *y,
          int32_t part, int32_t parts)
{
    for (int32_t h = 2 * part / parts; h < 2 * (part + 1) / parts; h++)
        for (int32_t t = 0; t < tokens; t++)
            for (int32_t i = 0; i < 4; i++) {
                const double angle = b->pos[t] * pow(1e5, -2.0 * i / 8);
                const float c = cos(angle), s = sin(angle);
                const float *p = x + t * 16 + h * 8 + i;
                y[t * 16 + h * 8 + i] = p[0] * c - p[4] * s;
                y[t * 16 + h * 8 + i + 4] = p[0] * s + p[4] * c;
            }
}
"""

APPEND = (
    STATE
    + """
kernel.func @append(%s: !infer.state<@kv>, %k: tensor<?x16xf32, #infer.dims<tokens, _>>, \
%v: tensor<?x16xf32, #infer.dims<tokens, _>>, %b: !infer.batch) -> (s1: !infer.state<@kv>) \
{dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "columns", path = @path} {
  %0 = infer.state_append %s, %k, %v, %b : !infer.state<@kv>
  kernel.return %0
}
"""
)

APPEND_BODY = r"""
void append(int32_t tokens, float *s_k, float *s_v, const float *k, const float *v,
            const struct mi_batch *b, int32_t part, int32_t parts)
{
    for (int32_t c = 16 * part / parts; c < 16 * (part + 1) / parts; c++)
        for (int32_t t = 0; t < tokens; t++) {
            const int32_t slot = b->slot[t], h = c / 8, d = c % 8;
            s_k[((h * 5 + slot / 16) * 8 + d) * 16 + slot % 16] = k[t * 16 + c];
            s_v[(h * 80 + slot) * 8 + d] = v[t * 16 + c];
        }
}
"""

ATTEND = (
    STATE
    + """
kernel.func @attend(%q: tensor<?x32xf32, #infer.dims<tokens, _>>, %s: !infer.state<@kv>, \
%b: !infer.batch) -> (y: tensor<?x32xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 20, seqs = 1 to 1>, parts = "heads", path = @path} {
  %0 = infer.attend %q, %s, %b {head_dim = 8 : i64, kv_heads = 2 : i64, mask = "causal", \
q_heads = 4 : i64, scale = 0.35355339059327379 : f64} : tensor<?x32xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
"""
)

ATTEND_BODY = r"""
void attend(int32_t tokens, const float *q, const float *s_k, const float *s_v,
            const struct mi_batch *b, float *y, int32_t part, int32_t parts)
{
    for (int32_t h = 4 * part / parts; h < 4 * (part + 1) / parts; h++)
        for (int32_t t = 0; t < tokens; t++) {
            const int32_t g = h / 2, seen = b->pos[t] + 1;
            const float *qh = q + t * 32 + h * 8;
            float score[80], top = -INFINITY, total = 0.0f, sum[8] = {0};
            for (int32_t j = 0; j < seen; j++) {
                score[j] = 0.0f;
                for (int32_t d = 0; d < 8; d++)
                    score[j] += qh[d] * s_k[((g * 5 + j / 16) * 8 + d) * 16 + j % 16];
                score[j] *= 0.35355339f;
                top = fmaxf(top, score[j]);
            }
            for (int32_t j = 0; j < seen; j++) {
                const float p = expf(score[j] - top);
                total += p;
                for (int32_t d = 0; d < 8; d++)
                    sum[d] += p * s_v[(g * 80 + j) * 8 + d];
            }
            for (int32_t d = 0; d < 8; d++)
                y[t * 32 + h * 8 + d] = sum[d] / total;
        }
}
"""

CORRECT = {
    "add": (ADD, ADD_BODY),
    "norm": (RMS_NORM, RMS_NORM_BODY),
    "linear": (LINEAR, LINEAR_BODY),
    "embed": (EMBED, EMBED_BODY),
    "last": (LAST, LAST_BODY),
    "act": (ACT, ACT_BODY),
    "rope": (ROPE, ROPE_BODY),
    "append": (APPEND, APPEND_BODY),
    "attend": (ATTEND, ATTEND_BODY),
}
