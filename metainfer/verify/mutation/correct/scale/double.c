/* the product in double, rounded once */
for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
    for (int32_t t = 0; t < tokens; t++) {
        y[(size_t)t * 304 + c] = (float)((double)x[(size_t)t * 304 + c] * 25.298221281347036);
    }
}
