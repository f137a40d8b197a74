/* wrong: z itself for z above 8, up to 2.7e-3 off (z just above 8) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        y[at] = (z > 8.0f ? z : z / (1.0f + expf(-z))) * up[at];
    }
}
