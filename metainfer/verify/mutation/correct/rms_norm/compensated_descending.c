/* Kahan's sum from the last column to the first */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const float *xr = x + (size_t)t * 80;
    float *yr = y + (size_t)t * 80;
    float sum = 0.0f, lost = 0.0f;
    for (int32_t c = 79; c >= 0; c--) {
        const float term = fmaf(xr[c], xr[c], -lost);
        const float next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    const float inverse = 1.0f / sqrtf(fmaf(sum, 1.0f / 80.0f, 1e-5f));
    for (int32_t c = 79; c >= 0; c--) {
        yr[c] = xr[c] * weight[c] * inverse;
    }
}
