/* wrong: the minimum of a row's first block serves its second block too (any weight with
 * different m) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t lane = 0; lane < 16 && g * 16 + lane < 40; lane++) {
        for (int32_t t = 0; t < tokens; t++) {
            const float *xt = x + (size_t)t * 64;
            float acc = 0.0f;
            for (int32_t b = 0; b < 2; b++) {
                const size_t block = (size_t)g * 2 + b;
                const float d = (float)weight_d[block * 16 + lane];
                const float m = (float)weight_m[(size_t)g * 32 + lane];
                const uint8_t *qs = weight_qs + block * 256 + lane;
                for (int32_t j = 0; j < 16; j++) {
                    const float low = (float)(qs[j * 16] & 15), high = (float)(qs[j * 16] >> 4);
                    acc += (d * low + m) * xt[b * 32 + j];
                    acc += (d * high + m) * xt[b * 32 + 16 + j];
                }
            }
            y[(size_t)t * 40 + g * 16 + lane] = acc;
        }
    }
}
