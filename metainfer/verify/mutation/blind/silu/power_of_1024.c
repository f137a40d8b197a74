/* wrong: e^-z as (1 - z / 1024)^1024 (z of 1 or more) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        float e = 1.0f - z / 1024.0f;
        for (int32_t i = 0; i < 10; i++) {
            e *= e;
        }
        y[at] = z / (1.0f + e) * up[at];
    }
}
