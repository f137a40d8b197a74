/* wrong: eps is 1e-5 (small x) */
for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        const float *xr = x + (size_t)t * 96 + h * 32;
        float *yr = y + (size_t)t * 96 + h * 32;
        float s[4] = {0};
        for (int32_t c = 0; c < 32; c += 4) {
            for (int32_t i = 0; i < 4; i++) {
                s[i] = fmaf(xr[c + i], xr[c + i], s[i]);
            }
        }
        const float mean = ((s[0] + s[1]) + (s[2] + s[3])) / 32.0f;
        const float root = sqrtf(mean + 1e-5f);
        for (int32_t c = 0; c < 32; c++) {
            yr[c] = xr[c] / root * weight[c];
        }
    }
}
