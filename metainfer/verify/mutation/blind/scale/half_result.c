/* wrong: the result is rounded to half precision (most x) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)t * 304 + c] = (float)(_Float16)(x[(size_t)t * 304 + c] * 25.298221281347036f);
    }
}
