/* wrong: the mean is over the whole row, not each head (heads that differ) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    float sum = 0.0f;
    for (int32_t c = 0; c < 96; c++) {
        sum += x[(size_t)t * 96 + c] * x[(size_t)t * 96 + c];
    }
    const float inverse = 1.0f / sqrtf(sum / 96.0f + 1e-6f);
    for (int32_t c = 0; c < 96; c++) {
        y[(size_t)t * 96 + c] = x[(size_t)t * 96 + c] * inverse * weight[c % 32];
    }
}
