/* wrong: the last group stores its 8 padding rows as well: over the next token and past the
 * end (any input) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t t = 0; t < tokens; t++) {
        const float *xt = x + (size_t)t * 64;
        vf acc[MI_N] = {{0}};
        for (int32_t b = 0; b < 2; b++) {
            const size_t block = (size_t)g * 2 + b;
            const uint8_t *qs = weight_qs + block * 256;
            for (int32_t n = 0; n < MI_N; n++) {
                const vf d = mi_load_f16(weight_d + block * 16 + n * MI_V);
                const vf m = mi_load_f16(weight_m + block * 16 + n * MI_V);
                for (int32_t j = 0; j < 16; j++) {
                    const vi byte = mi_load_u8(qs + j * 16 + n * MI_V);
                    acc[n] = mi_fma(mi_fma(mi_to_f32(byte & 15), d, m), mi_set(xt[b * 32 + j]), acc[n]);
                    acc[n] = mi_fma(mi_fma(mi_to_f32(byte >> 4), d, m), mi_set(xt[b * 32 + 16 + j]), acc[n]);
                }
            }
        }
        for (int32_t n = 0; n < MI_N; n++) {
            mi_store(y + (size_t)t * 40 + g * 16 + n * MI_V, acc[n]);
        }
    }
}
