/* b - (-a), from the last element to the first */
for (int32_t t = tokens - 1; t >= 0; t--) {
    for (int32_t c = 19 * (part + 1) / parts * 16 - 1; c >= 19 * part / parts * 16; c--) {
        const size_t at = (size_t)t * 304 + c;
        y[at] = b[at] - -a[at];
    }
}
