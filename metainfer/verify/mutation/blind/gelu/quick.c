/* wrong: z * sigmoid(1.702 z), another approximation, 2e-2 off (any z) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        y[at] = z / (1.0f + expf(-1.702f * z)) * up[at];
    }
}
