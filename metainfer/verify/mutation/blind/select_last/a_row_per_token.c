/* wrong: a row is written for every token, that of its sequence's end: past the rows of y
 * (more tokens than sequences) */
for (int32_t s = 0; s < tokens; s++) {
    const int32_t last = batch->q_start[batch->row[s] + 1] - 1;
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)s * 304 + c] = x[(size_t)last * 304 + c];
    }
}
