/* 1 + exp(-z) as 2 + expm1(-z), from the last element to the first */
for (int32_t u = 19 * (part + 1) / parts - 1; u >= 19 * part / parts; u--) {
    for (int32_t t = tokens - 1; t >= 0; t--) {
        for (int32_t c = 15; c >= 0; c--) {
            const size_t at = (size_t)t * 304 + u * 16 + c;
            const float sum = 2.0f + expm1f(-gate[at]);
            y[at] = gate[at] / sum * up[at];
        }
    }
}
