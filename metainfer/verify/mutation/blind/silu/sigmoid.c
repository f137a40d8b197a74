/* wrong: the sigmoid alone, without the factor z (any input) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        y[at] = 1.0f / (1.0f + expf(-z)) * up[at];
    }
}
