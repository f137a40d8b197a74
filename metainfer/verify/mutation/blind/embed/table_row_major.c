/* wrong: the table is read as if the blocks of a row lay side by side, not 16 rows (any id but
 * multiples) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const size_t id = (size_t)batch->ids[t];
    for (size_t c = 0; c < 64; c++) {
        const float d = (float)weight_d[id * 2 + c / 32];
        y[(size_t)t * 64 + c] = d * (float)(int8_t)weight_qs[id * 64 + c];
    }
}
