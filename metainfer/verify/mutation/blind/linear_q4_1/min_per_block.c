/* wrong: the split form adds m once per block instead of m * sum(x) (any x) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
        for (int32_t lane = 0; lane < 16; lane++) {
            if (g * 16 + lane >= 40) {
                break;
            }
            float acc = 0.0f;
            for (int32_t b = 0; b < 2; b++) {
                const size_t block = (size_t)g * 2 + b;
                float dot = 0.0f;
                for (int32_t j = 0; j < 16; j++) {
                    const uint8_t byte = weight_qs[(block * 16 + j) * 16 + lane];
                    dot += (float)(byte & 15) * x[(size_t)t * 64 + b * 32 + j];
                    dot += (float)(byte >> 4) * x[(size_t)t * 64 + b * 32 + 16 + j];
                }
                acc += (float)weight_d[block * 16 + lane] * dot + (float)weight_m[block * 16 + lane];
            }
            y[(size_t)t * 40 + g * 16 + lane] = acc;
        }
    }
}
