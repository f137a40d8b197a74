/* wrong: only the first sequence is written, as if there were one (two sequences or more) */
for (int32_t s = 0; s < 1; s++) {
    const int32_t last = batch->q_start[s + 1] - 1;
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)s * 304 + c] = x[(size_t)last * 304 + c];
    }
}
