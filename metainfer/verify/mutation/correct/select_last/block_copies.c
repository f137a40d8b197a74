/* memcpy of a part's columns, sequences from the last to the first */
const size_t begin = (size_t)(19 * part / parts) * 16, end = (size_t)(19 * (part + 1) / parts) * 16;
if (end > begin) {
    for (int32_t s = seqs - 1; s >= 0; s--) {
        const size_t length = (size_t)(batch->q_start[s + 1] - batch->q_start[s]);
        const float *row = x + ((size_t)batch->q_start[s] + length - 1) * 304;
        memcpy(y + (size_t)s * 304 + begin, row + begin, (end - begin) * sizeof(float));
    }
}
