/* wrong: heads are as far apart as the context of 96 needs, not the ring of 48 (head 1) */
for (int32_t u = part; u < 1; u += parts) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t slot = batch->slot[t] % 48;
        for (int32_t c = u * 16; c < u * 16 + 16; c++) {
            const int32_t h = c / 8, d = c % 8;
            state_k[((h * 6 + slot / 16) * 8 + d) * 16 + slot % 16] = (_Float16)k[(size_t)t * 16 + c];
            state_v[(h * 96 + slot) * 8 + d] = (_Float16)v[(size_t)t * 16 + c];
        }
    }
}
