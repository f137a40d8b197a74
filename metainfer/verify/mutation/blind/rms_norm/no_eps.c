/* wrong: no eps: a row of zeros becomes NaN (zero or small x) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const float *xr = x + (size_t)t * 80;
    float sum = 0.0f;
    for (int32_t c = 0; c < 80; c++) {
        sum += xr[c] * xr[c];
    }
    const float inverse = 1.0f / sqrtf(sum / 80.0f);
    for (int32_t c = 0; c < 80; c++) {
        y[(size_t)t * 80 + c] = xr[c] * inverse * weight[c];
    }
}
