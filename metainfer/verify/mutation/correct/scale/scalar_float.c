/* the factor rounded to float, one element after the other */
const float factor = 25.298221281347036f;
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)t * 304 + c] = factor * x[(size_t)t * 304 + c];
    }
}
