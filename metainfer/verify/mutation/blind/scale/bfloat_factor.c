/* wrong: the factor is rounded to bfloat16, 25.25, as one reference does (any x) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)t * 304 + c] = x[(size_t)t * 304 + c] * 25.25f;
    }
}
