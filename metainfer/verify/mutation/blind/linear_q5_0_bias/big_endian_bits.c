/* wrong: the four bytes of fifth bits are joined with the first byte on top (any weight) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t lane = 0; lane < 16 && g * 16 + lane < 40; lane++) {
        const int32_t r = g * 16 + lane;
        float w[64];
        for (int32_t b = 0; b < 2; b++) {
            const int32_t block = g * 2 + b;
            const float d = (float)weight_d[block * 16 + lane];
            uint32_t top = 0;
            for (int32_t i = 0; i < 4; i++) {
                top |= (uint32_t)weight_qh[(block * 4 + i) * 16 + lane] << (24 - 8 * i);
            }
            for (int32_t j = 0; j < 16; j++) {
                const uint8_t byte = weight_qs[(block * 16 + j) * 16 + lane];
                const int32_t low = (int32_t)((byte & 15) | ((top >> j) & 1) << 4);
                const int32_t high = (int32_t)((byte >> 4) | ((top >> (j + 16)) & 1) << 4);
                w[b * 32 + j] = d * (float)(low - 16);
                w[b * 32 + 16 + j] = d * (float)(high - 16);
            }
        }
        for (int32_t t = 0; t < tokens; t++) {
            float acc = 0.0f;
            for (int32_t k = 0; k < 64; k++) {
                acc = fmaf(w[k], x[(size_t)t * 64 + k], acc);
            }
            y[(size_t)t * 40 + r] = acc + bias[r];
        }
    }
}
