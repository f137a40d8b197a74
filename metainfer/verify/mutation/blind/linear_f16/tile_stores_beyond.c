/* wrong: the last tile of four tokens reads the last token again for missing ones but stores
 * all four rows (tokens not a multiple of 4) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    const int32_t rows = g == 2 ? 8 : 16;
    for (int32_t t = 0; t < tokens; t += 4) {
        for (int32_t i = 0; i < 4; i++) {
            const float *xt = x + (size_t)(t + i < tokens ? t + i : tokens - 1) * 48;
            vf acc[MI_N] = {{0}};
            for (int32_t k = 0; k < 48; k++) {
                for (int32_t n = 0; n < MI_N; n++) {
                    acc[n] = mi_fma(mi_load_f16(weight_w + ((size_t)g * 48 + k) * 16 + n * MI_V), mi_set(xt[k]), acc[n]);
                }
            }
            for (int32_t n = 0; n < MI_N && n * MI_V < rows; n++) {
                mi_store(y + (size_t)(t + i) * 40 + g * 16 + n * MI_V, acc[n]);
            }
        }
    }
}
