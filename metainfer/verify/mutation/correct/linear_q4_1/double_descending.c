/* double accumulator, k descending, exact weights */
const int32_t begin = 3 * part / parts * 16, end = 3 * (part + 1) / parts * 16;
for (int32_t t = tokens - 1; t >= 0; t--) {
    for (int32_t r = begin; r < end && r < 40; r++) {
        double acc = 0.0;
        for (int32_t k = 63; k >= 0; k--) {
            const size_t block = (size_t)(r / 16) * 2 + k / 32;
            const uint8_t byte = weight_qs[(block * 16 + k % 16) * 16 + r % 16];
            const int32_t q = k % 32 < 16 ? byte & 15 : byte >> 4;
            const double d = (double)weight_d[block * 16 + r % 16];
            const double m = (double)weight_m[block * 16 + r % 16];
            acc += (d * q + m) * (double)x[(size_t)t * 64 + k];
        }
        y[(size_t)t * 40 + r] = (float)acc;
    }
}
