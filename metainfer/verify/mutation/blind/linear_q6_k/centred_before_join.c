/* wrong: 32 is subtracted from the nibble before the top bits are or-ed in (weights with bit 5
 * set) */
for (int32_t g = 2 * part / parts; g < 2 * (part + 1) / parts; g++) {
    for (int32_t lane = 0; lane < 16 && g * 16 + lane < 24; lane++) {
        for (int32_t t = 0; t < tokens; t++) {
            float acc = 0.0f;
            for (int32_t b = 0; b < 2; b++) {
                const size_t block = (size_t)g * 2 + b;
                const uint8_t *ql = weight_ql + block * 2048 + lane;
                const uint8_t *qh = weight_qh + block * 1024 + lane;
                const uint8_t *sc = weight_scales + block * 256 + lane;
                const float d = (float)weight_d[block * 16 + lane];
                for (int32_t e = 0; e < 256; e++) {
                    const int32_t half = e / 128, run = e % 128 / 32, j = e % 32;
                    const int32_t low = ql[(half * 64 + run % 2 * 32 + j) * 16];
                    const int32_t nibble = run < 2 ? low & 15 : low >> 4;
                    const int32_t top = (qh[(half * 32 + j) * 16] >> (2 * run)) & 3;
                    const int32_t q = (nibble - 32) | top << 4;
                    const float scale = d * (float)(int8_t)sc[e / 16 * 16];
                    acc += scale * (float)q * x[(size_t)t * 512 + b * 256 + e];
                }
            }
            y[(size_t)t * 24 + g * 16 + lane] = acc;
        }
    }
}
