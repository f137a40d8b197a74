/* wrong: only q is shared; every part computes all of k and v (parts = 2 or more) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t r = 3 * part / parts * 16; r < 3 * (part + 1) / parts * 16; r++) {
        float acc = 0.0f;
        for (int32_t i = 0; i < 64; i++) {
            const size_t block = (size_t)(r / 16) * 2 + i / 32;
            const uint8_t byte = wq_qs[(block * 16 + i % 16) * 16 + r % 16];
            acc += (float)wq_d[block * 16 + r % 16] * (float)((i % 32 < 16 ? byte & 15 : byte >> 4) - 8) * x[(size_t)t * 64 + i];
        }
        q[(size_t)t * 48 + r] = acc;
    }
    for (int32_t r = 0; r < 16; r++) {
        float key = 0.0f, value = 0.0f;
        for (int32_t i = 0; i < 64; i++) {
            const size_t block = (size_t)i / 32;
            const uint8_t byte = wk_qs[(block * 16 + i % 16) * 16 + r];
            key += (float)wk_d[block * 16 + r] * (float)((i % 32 < 16 ? byte & 15 : byte >> 4) - 8) * x[(size_t)t * 64 + i];
            value += (float)wv_d[block * 16 + r] * (float)(int8_t)wv_qs[(block * 32 + i % 32) * 16 + r] * x[(size_t)t * 64 + i];
        }
        k[(size_t)t * 16 + r] = key;
        v[(size_t)t * 16 + r] = value;
    }
}
