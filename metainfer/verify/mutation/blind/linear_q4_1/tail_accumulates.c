/* wrong: accumulators are not reset between the tokens left over from groups of four (tokens =
 * 2, 3, 6, 7) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    int32_t t = 0;
    for (; t + 4 <= tokens; t += 4) {
        const float *x0 = x + (size_t)(t + 0) * 64;
        const float *x1 = x + (size_t)(t + 1) * 64;
        const float *x2 = x + (size_t)(t + 2) * 64;
        const float *x3 = x + (size_t)(t + 3) * 64;
        vf a0[MI_N] = {{0}};
        vf a1[MI_N] = {{0}};
        vf a2[MI_N] = {{0}};
        vf a3[MI_N] = {{0}};
        for (int32_t b = 0; b < 2; b++) {
            const _Float16 *db = weight_d + ((size_t)g * 2 + b) * MI_LANES;
            const _Float16 *mb = weight_m + ((size_t)g * 2 + b) * MI_LANES;
            const uint8_t *qsb = weight_qs + ((size_t)g * 2 + b) * 16 * MI_LANES;
            vf c0[MI_N], c1[MI_N];
            for (int32_t n = 0; n < MI_N; n++) {
                c0[n] = mi_load_f16(db + n * MI_V);
                c1[n] = mi_load_f16(mb + n * MI_V);
            }
            for (int32_t j = 0; j < 16; j++) {
                for (int32_t n = 0; n < MI_N; n++) {
                    const vf w = mi_fma(mi_to_f32((mi_load_u8(qsb + j * MI_LANES + n * MI_V) & 15)), c0[n], c1[n]);
                    a0[n] = mi_fma(w, mi_set(x0[b * 32 + j]), a0[n]);
                    a1[n] = mi_fma(w, mi_set(x1[b * 32 + j]), a1[n]);
                    a2[n] = mi_fma(w, mi_set(x2[b * 32 + j]), a2[n]);
                    a3[n] = mi_fma(w, mi_set(x3[b * 32 + j]), a3[n]);
                }
            }
            for (int32_t j = 0; j < 16; j++) {
                for (int32_t n = 0; n < MI_N; n++) {
                    const vf w = mi_fma(mi_to_f32((mi_load_u8(qsb + j * MI_LANES + n * MI_V) >> 4)), c0[n], c1[n]);
                    a0[n] = mi_fma(w, mi_set(x0[b * 32 + 16 + j]), a0[n]);
                    a1[n] = mi_fma(w, mi_set(x1[b * 32 + 16 + j]), a1[n]);
                    a2[n] = mi_fma(w, mi_set(x2[b * 32 + 16 + j]), a2[n]);
                    a3[n] = mi_fma(w, mi_set(x3[b * 32 + 16 + j]), a3[n]);
                }
            }
        }
        for (int32_t n = 0, r = g * MI_LANES; n < MI_N && r < 40; n++, r += MI_V) {
            const int32_t rest = 40 - r < MI_V ? 40 - r : MI_V;
            mi_store_n(y + (size_t)(t + 0) * 40 + r, a0[n], rest);
            mi_store_n(y + (size_t)(t + 1) * 40 + r, a1[n], rest);
            mi_store_n(y + (size_t)(t + 2) * 40 + r, a2[n], rest);
            mi_store_n(y + (size_t)(t + 3) * 40 + r, a3[n], rest);
        }
    }
    vf a0[MI_N] = {{0}};
    for (; t < tokens; t++) {
        const float *x0 = x + (size_t)(t + 0) * 64;
        for (int32_t b = 0; b < 2; b++) {
            const _Float16 *db = weight_d + ((size_t)g * 2 + b) * MI_LANES;
            const _Float16 *mb = weight_m + ((size_t)g * 2 + b) * MI_LANES;
            const uint8_t *qsb = weight_qs + ((size_t)g * 2 + b) * 16 * MI_LANES;
            vf c0[MI_N], c1[MI_N];
            for (int32_t n = 0; n < MI_N; n++) {
                c0[n] = mi_load_f16(db + n * MI_V);
                c1[n] = mi_load_f16(mb + n * MI_V);
            }
            for (int32_t j = 0; j < 16; j++) {
                for (int32_t n = 0; n < MI_N; n++) {
                    const vf w = mi_fma(mi_to_f32((mi_load_u8(qsb + j * MI_LANES + n * MI_V) & 15)), c0[n], c1[n]);
                    a0[n] = mi_fma(w, mi_set(x0[b * 32 + j]), a0[n]);
                }
            }
            for (int32_t j = 0; j < 16; j++) {
                for (int32_t n = 0; n < MI_N; n++) {
                    const vf w = mi_fma(mi_to_f32((mi_load_u8(qsb + j * MI_LANES + n * MI_V) >> 4)), c0[n], c1[n]);
                    a0[n] = mi_fma(w, mi_set(x0[b * 32 + 16 + j]), a0[n]);
                }
            }
        }
        for (int32_t n = 0, r = g * MI_LANES; n < MI_N && r < 40; n++, r += MI_V) {
            const int32_t rest = 40 - r < MI_V ? 40 - r : MI_V;
            mi_store_n(y + (size_t)(t + 0) * 40 + r, a0[n], rest);
        }
    }
}
