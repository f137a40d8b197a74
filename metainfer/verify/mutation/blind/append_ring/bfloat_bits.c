/* wrong: the upper 16 bits of the floats are stored, as if the state were bfloat16 (any k) */
if (part == 0) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t slot = batch->slot[t] % 48;
        for (int32_t c = 0; c < 16; c++) {
            const size_t key = (size_t)((c / 8 * 3 + slot / 16) * 8 + c % 8) * 16 + slot % 16;
            const size_t value = (size_t)(c / 8 * 48 + slot) * 8 + c % 8;
            memcpy(state_k + key, (const char *)(k + t * 16 + c) + 2, 2);
            memcpy(state_v + value, (const char *)(v + t * 16 + c) + 2, 2);
        }
    }
}
