/* wrong: the factor as 1 / 0.03953, an inverse of four digits (any x) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)t * 304 + c] = x[(size_t)t * 304 + c] * (1.0f / 0.03953f);
    }
}
