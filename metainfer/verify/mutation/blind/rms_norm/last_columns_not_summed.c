/* wrong: squares are summed 32 columns at a time and the last 16 are left out (any x) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const float *xr = x + (size_t)t * 80;
    float sum = 0.0f;
    for (int32_t c = 0; c + 32 <= 80; c += 32) {
        for (int32_t i = 0; i < 32; i++) {
            sum += xr[c + i] * xr[c + i];
        }
    }
    const float inverse = 1.0f / sqrtf(sum / 80.0f + 1e-5f);
    for (int32_t c = 0; c < 80; c++) {
        y[(size_t)t * 80 + c] = xr[c] * inverse * weight[c];
    }
}
