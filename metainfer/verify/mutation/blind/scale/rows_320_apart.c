/* wrong: rows are taken to be padded to 320 columns: the wrong elements, and past the end (two
 * tokens or more) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)t * 320 + c] = x[(size_t)t * 320 + c] * 25.298221281347036f;
    }
}
