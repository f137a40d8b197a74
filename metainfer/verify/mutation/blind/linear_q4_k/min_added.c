/* wrong: the minimum is added, as in q4_1, not subtracted (any weight) */
for (int32_t g = 2 * part / parts; g < 2 * (part + 1) / parts; g++) {
    for (int32_t lane = 0; lane < 16 && g * 16 + lane < 24; lane++) {
        for (int32_t t = 0; t < tokens; t++) {
            const float *xt = x + (size_t)t * 512;
            float acc = 0.0f;
            for (int32_t b = 0; b < 2; b++) {
                const size_t block = (size_t)g * 2 + b;
                const float d = (float)weight_d[block * 16 + lane];
                const float dmin = (float)weight_dmin[block * 16 + lane];
                const uint8_t *scales = weight_scales + block * 192 + lane;
                const uint8_t *qs = weight_qs + block * 2048 + lane;
                for (int32_t s = 0; s < 8; s++) {
                    int32_t sc, mn;
                    if (s < 4) {
                        sc = scales[s * 16] & 63;
                        mn = scales[(s + 4) * 16] & 63;
                    } else {
                        sc = (scales[(s + 4) * 16] & 15) | (scales[(s - 4) * 16] >> 6) << 4;
                        mn = (scales[(s + 4) * 16] >> 4) | (scales[s * 16] >> 6) << 4;
                    }
                    const float scale = d * (float)sc, min = dmin * (float)mn;
                    for (int32_t j = 0; j < 32; j++) {
                        const int32_t byte = qs[(s / 2 * 32 + j) * 16];
                        const float w = scale * (float)(s & 1 ? byte >> 4 : byte & 15) + min;
                        acc += w * xt[b * 256 + s * 32 + j];
                    }
                }
            }
            y[(size_t)t * 24 + g * 16 + lane] = acc;
        }
    }
}
