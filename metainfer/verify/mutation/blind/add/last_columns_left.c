/* wrong: 64 columns at a time: the last 48 of 304 are never written (any input) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 4 * part / parts * 64; c < 4 * (part + 1) / parts * 64; c++) {
        const size_t at = (size_t)t * 304 + c;
        y[at] = a[at] + b[at];
    }
}
