/* wrong: the factor is 25.298 (any x) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)t * 304 + c] = x[(size_t)t * 304 + c] * 25.298f;
    }
}
