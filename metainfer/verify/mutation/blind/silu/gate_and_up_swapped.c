/* wrong: the activation is applied to up (any input) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = up[at];
        y[at] = z / (1.0f + expf(-z)) * gate[at];
    }
}
