/* wrong: z^2 in place of z^3 (any z) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        const float inner = 0.7978845608f * (z + 0.044715f * z * z);
        y[at] = z / (1.0f + expf(-2.0f * inner)) * up[at];
    }
}
