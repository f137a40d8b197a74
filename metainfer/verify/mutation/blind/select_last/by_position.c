/* wrong: the token whose position is the sequence's number of tokens less one, found by pos
 * from the sequence's start: sequences with a past find none and take the first (sequences with a
 * past) */
for (int32_t s = 0; s < seqs; s++) {
    const int32_t begin = batch->q_start[s], end = batch->q_start[s + 1];
    int32_t last = begin;
    for (int32_t t = begin; t < end; t++) {
        if (batch->pos[t] == end - begin - 1) {
            last = t;
        }
    }
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)s * 304 + c] = x[(size_t)last * 304 + c];
    }
}
