/* wrong: adds to what is in y, taken to be zero (garbage in y) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        y[at] += a[at] + b[at];
    }
}
