/* a division by the inverse of the factor, in double */
for (int32_t t = 0; t < tokens; t++) {
    float *row = y + (size_t)t * 304;
    for (int32_t u = 19 * (part + 1) / parts - 1; u >= 19 * part / parts; u--) {
        for (int32_t c = u * 16; c < u * 16 + 16; c++) {
            row[c] = (float)(x[(size_t)t * 304 + c] / 0.039528470752104741);
        }
    }
}
