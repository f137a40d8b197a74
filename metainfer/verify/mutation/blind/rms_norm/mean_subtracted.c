/* wrong: the mean is subtracted first, as in a layer norm (x with a mean) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const float *xr = x + (size_t)t * 80;
    float mean = 0.0f, variance = 0.0f;
    for (int32_t c = 0; c < 80; c++) {
        mean += xr[c] / 80.0f;
    }
    for (int32_t c = 0; c < 80; c++) {
        variance += (xr[c] - mean) * (xr[c] - mean) / 80.0f;
    }
    const float inverse = 1.0f / sqrtf(variance + 1e-5f);
    for (int32_t c = 0; c < 80; c++) {
        y[(size_t)t * 80 + c] = (xr[c] - mean) * inverse * weight[c];
    }
}
