/* wrong: 0 for z below -10, where it is up to 4.5e-4 (z just below -10) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        y[at] = z < -10.0f ? 0.0f : z / (1.0f + expf(-z)) * up[at];
    }
}
