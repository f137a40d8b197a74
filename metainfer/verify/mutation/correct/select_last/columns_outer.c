/* columns outside, sequences inside, moved as 32-bit integers */
for (int32_t u = 19 * part / parts; u < 19 * (part + 1) / parts; u++) {
    for (int32_t c = 15; c >= 0; c--) {
        for (int32_t s = 0; s < seqs; s++) {
            uint32_t bits;
            memcpy(&bits, x + ((size_t)batch->q_start[s + 1] - 1) * 304 + u * 16 + c, 4);
            memcpy(y + (size_t)s * 304 + u * 16 + c, &bits, 4);
        }
    }
}
