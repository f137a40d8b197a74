/* wrong: the last tile is moved back to end with the last token, before the first one if there
 * are fewer than 4 (tokens = 1, 2, 3) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t start = 0; start < tokens; start += 4) {
        const int32_t t = start + 4 > tokens ? tokens - 4 : start;
        for (int32_t i = 0; i < 4; i++) {
            for (int32_t r = g * 16; r < g * 16 + 16 && r < 40; r++) {
                float acc = 0.0f;
                for (int32_t k = 0; k < 48; k++) {
                    acc += (float)weight_w[((size_t)g * 48 + k) * 16 + r % 16] * x[(ptrdiff_t)(t + i) * 48 + k];
                }
                y[(ptrdiff_t)(t + i) * 40 + r] = acc;
            }
        }
    }
}
