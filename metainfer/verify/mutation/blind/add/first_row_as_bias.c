/* wrong: the first row of b is added to every row, as if it were a bias (two tokens or more) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        y[at] = a[at] + b[c];
    }
}
