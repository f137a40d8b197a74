/* wrong: shares are of sequences with the end rounded up: two parts write a row (parts = 2 and
 * 3 sequences) */
for (int32_t s = seqs * part / parts; s < (seqs * (part + 1) + parts - 1) / parts; s++) {
    memcpy(y + (size_t)s * 304, x + (size_t)(batch->q_start[s + 1] - 1) * 304, 304 * sizeof(float));
}
