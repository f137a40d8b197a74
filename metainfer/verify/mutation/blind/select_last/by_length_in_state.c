/* wrong: kv_len is taken for the end of the sequence in the step (sequences with a past, or
 * more than one) */
for (int32_t s = 0; s < seqs; s++) {
    const int32_t last = batch->kv_len[s] - 1;
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)s * 304 + c] = x[(size_t)last * 304 + c];
    }
}
