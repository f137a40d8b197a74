/* product in double, rounded once, tokens from the last to the first */
const int32_t begin = tokens * part / parts, end = tokens * (part + 1) / parts;
for (int32_t t = end - 1; t >= begin; t--) {
    const size_t group = (size_t)batch->ids[t] / 16, lane = (size_t)batch->ids[t] % 16;
    for (size_t b = 0; b < 2; b++) {
        const double d = (double)weight_d[(group * 2 + b) * 16 + lane];
        for (size_t j = 0; j < 32; j++) {
            const int32_t u = weight_qs[((group * 2 + b) * 32 + j) * 16 + lane];
            const double q = u < 128 ? u : u - 256;
            y[(size_t)t * 64 + b * 32 + j] = (float)(q * d);
        }
    }
}
