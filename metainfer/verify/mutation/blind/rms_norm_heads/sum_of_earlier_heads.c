/* wrong: the sum is not reset between heads of a token (heads 1 and 2) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    float sum = 0.0f;
    for (int32_t h = 0; h < 3; h++) {
        const float *xr = x + (size_t)t * 96 + h * 32;
        for (int32_t c = 0; c < 32; c++) {
            sum += xr[c] * xr[c];
        }
        const float inverse = 1.0f / sqrtf(sum / 32.0f + 1e-6f);
        for (int32_t c = 0; c < 32; c++) {
            y[(size_t)t * 96 + h * 32 + c] = xr[c] * inverse * weight[c];
        }
    }
}
