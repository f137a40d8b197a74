/* wrong: the sum is clamped to the range of half floats (sums beyond 65504) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        y[at] = fmaxf(-65504.0f, fminf(65504.0f, a[at] + b[at]));
    }
}
