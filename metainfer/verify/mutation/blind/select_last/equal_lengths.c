/* wrong: sequences are taken to be equally long (sequences of different length) */
for (int32_t s = 0; s < seqs; s++) {
    const int32_t last = tokens / seqs * (s + 1) - 1;
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        y[(size_t)s * 304 + c] = x[(size_t)last * 304 + c];
    }
}
