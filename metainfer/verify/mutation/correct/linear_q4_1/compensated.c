/* Kahan's sum over k in float, low and high nibble of a byte together */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t r = g * 16; r < g * 16 + 16 && r < 40; r++) {
        const int32_t lane = r - g * 16;
        for (int32_t t = 0; t < tokens; t++) {
            float sum = 0.0f, lost = 0.0f;
            for (int32_t i = 0; i < 32; i++) {
                const int32_t b = i / 16, j = i % 16;
                const size_t block = (size_t)g * 2 + b;
                const uint8_t byte = weight_qs[(block * 16 + j) * 16 + lane];
                const float d = (float)weight_d[block * 16 + lane];
                const float m = (float)weight_m[block * 16 + lane];
                const float *xb = x + (size_t)t * 64 + b * 32;
                for (int32_t half = 0; half < 2; half++) {
                    const int32_t q = half ? byte >> 4 : byte & 15;
                    const float term = (d * (float)q + m) * xb[half * 16 + j] - lost;
                    const float next = sum + term;
                    lost = (next - sum) - term;
                    sum = next;
                }
            }
            y[(size_t)t * 40 + r] = sum;
        }
    }
}
