/* wrong: tokens are taken two at a time and the last one of an odd count is not computed (odd
 * tokens) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t t = 0; t < tokens / 2 * 2; t++) {
        float sum[16] = {0};
        for (int32_t b = 0; b < 3; b++) {
            const _Float16 *db = weight_d + (g * 3 + b) * 16;
            const uint8_t *qb = weight_qs + (g * 3 + b) * 512;
            for (int32_t j = 0; j < 32; j++) {
                const float xk = x[(size_t)t * 96 + b * 32 + j];
                for (int32_t lane = 0; lane < 16; lane++) {
                    sum[lane] += (float)db[lane] * (float)(int8_t)qb[j * 16 + lane] * xk;
                }
            }
        }
        for (int32_t lane = 0; lane < 16; lane++) {
            y[(size_t)t * 48 + g * 16 + lane] = sum[lane];
        }
    }
}
