/* wrong: the split form keeps the sum of x running from one sub-block to the next (any x) */
for (int32_t g = 2 * part / parts; g < 2 * (part + 1) / parts; g++) {
    for (int32_t t = 0; t < tokens; t++) {
        for (int32_t lane = 0; lane < (g == 1 ? 8 : 16); lane++) {
            float acc = 0.0f, run = 0.0f;
            for (int32_t s = 0; s < 16; s++) {
                const size_t block = (size_t)g * 2 + s / 8;
                const uint8_t *f = weight_scales + block * 192 + lane;
                const int32_t i = s % 8;
                const int32_t sc = i < 4 ? f[i * 16] & 63 : (f[(i + 4) * 16] & 15) | ((f[(i - 4) * 16] >> 2) & 48);
                const int32_t mn = i < 4 ? f[(i + 4) * 16] & 63 : (f[(i + 4) * 16] >> 4) | ((f[i * 16] >> 2) & 48);
                float dot = 0.0f;
                for (int32_t j = 0; j < 32; j++) {
                    const uint8_t byte = weight_qs[(block * 128 + i / 2 * 32 + j) * 16 + lane];
                    const float xk = x[(size_t)t * 512 + s * 32 + j];
                    dot += (float)(i % 2 ? byte >> 4 : byte & 15) * xk;
                    run += xk;
                }
                acc += (float)weight_d[block * 16 + lane] * (float)sc * dot;
                acc -= (float)weight_dmin[block * 16 + lane] * (float)mn * run;
            }
            y[(size_t)t * 24 + g * 16 + lane] = acc;
        }
    }
}
