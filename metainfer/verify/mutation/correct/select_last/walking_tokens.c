/* every token is looked at; the one before a sequence's end is copied */
for (int32_t t = 0, s = 0; t < tokens && s < seqs; t++) {
    if (t + 1 != batch->q_start[s + 1]) {
        continue;
    }
    for (int32_t u = 19 * part / parts; u < 19 * (part + 1) / parts; u++) {
        for (int32_t c = u * 16; c < u * 16 + 16; c += MI_V) {
            mi_store(y + (size_t)s * 304 + c, mi_load(x + (size_t)t * 304 + c));
        }
    }
    s++;
}
