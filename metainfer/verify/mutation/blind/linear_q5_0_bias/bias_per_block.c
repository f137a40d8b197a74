/* wrong: the bias is added with each block, so twice (any bias) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t t = 0; t < tokens; t++) {
        for (int32_t r = g * 16; r < g * 16 + 16 && r < 40; r++) {
            float out = 0.0f;
            for (int32_t b = 0; b < 2; b++) {
                const int32_t block = g * 2 + b;
                float dot = 0.0f;
                for (int32_t e = 0; e < 32; e++) {
                    const int32_t byte = weight_qs[(block * 16 + e % 16) * 16 + r % 16];
                    const int32_t bit = weight_qh[(block * 4 + e / 8) * 16 + r % 16] >> (e % 8) & 1;
                    dot += (float)((e < 16 ? byte & 15 : byte >> 4) + 16 * bit - 16) * x[(size_t)t * 64 + b * 32 + e];
                }
                out += (float)weight_d[block * 16 + r % 16] * dot + bias[r];
            }
            y[(size_t)t * 40 + r] = out;
        }
    }
}
