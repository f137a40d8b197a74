/* summed in double and rounded, columns outside */
for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
    for (int32_t t = 0; t < tokens; t++) {
        const size_t at = (size_t)t * 304 + c;
        y[at] = (float)((double)b[at] + (double)a[at]);
    }
}
