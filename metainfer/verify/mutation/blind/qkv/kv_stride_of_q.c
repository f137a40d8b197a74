/* wrong: rows of k and v are stored 48 apart, as those of q (two tokens or more) */
for (int32_t g = 5 * part / parts; g < 5 * (part + 1) / parts; g++) {
    const int32_t local = g < 3 ? g : 0;
    for (int32_t t = 0; t < tokens; t++) {
        const float *xt = x + (size_t)t * 64;
        for (int32_t lane = 0; lane < 16; lane++) {
            float acc = 0.0f;
            for (int32_t b = 0; b < 2; b++) {
                const size_t block = (size_t)local * 2 + b;
                if (g < 4) {
                    const float d = (float)(g < 3 ? wq_d : wk_d)[block * 16 + lane];
                    const uint8_t *qs = (g < 3 ? wq_qs : wk_qs) + block * 256 + lane;
                    for (int32_t j = 0; j < 16; j++) {
                        acc += d * (float)((qs[j * 16] & 15) - 8) * xt[b * 32 + j];
                        acc += d * (float)((qs[j * 16] >> 4) - 8) * xt[b * 32 + 16 + j];
                    }
                } else {
                    const float d = (float)wv_d[block * 16 + lane];
                    for (int32_t j = 0; j < 32; j++) {
                        acc += d * (float)(int8_t)wv_qs[block * 512 + j * 16 + lane] * xt[b * 32 + j];
                    }
                }
            }
            if (g < 3) {
                q[(size_t)t * 48 + g * 16 + lane] = acc;
            } else {
                (g == 3 ? k : v)[(size_t)t * 48 + lane] = acc;
            }
        }
    }
}
