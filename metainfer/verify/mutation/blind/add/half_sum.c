/* wrong: the sum is rounded to half precision (most inputs) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        y[at] = (float)(_Float16)(a[at] + b[at]);
    }
}
