/* wrong: x is rounded to half precision first (x with more than 11 bits) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    const _Float16 *wg = weight_w + (size_t)g * 48 * 16;
    for (int32_t t = 0; t < tokens; t++) {
        float sum[16] = {0};
        for (int32_t k = 0; k < 48; k++) {
            const float xk = (float)(_Float16)x[(size_t)t * 48 + k];
            for (int32_t lane = 0; lane < 16; lane++) {
                sum[lane] += (float)wg[k * 16 + lane] * xk;
            }
        }
        for (int32_t lane = 0; lane < 16 && g * 16 + lane < 40; lane++) {
            y[(size_t)t * 40 + g * 16 + lane] = sum[lane];
        }
    }
}
