/* wrong: b is left out where it is below 1e-6 of a, a cut-off of a fast path (b just below that) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        y[at] = fabsf(b[at]) < 1e-6f * fabsf(a[at]) ? a[at] : a[at] + b[at];
    }
}
