/* wrong: tokens go to the slot of the first plus their index, wrapped for the first only
 * (steps across the end) */
for (int32_t u = part; u < 1; u += parts) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t slot = batch->slot[0] % 48 + t;
        for (int32_t c = u * 16; c < u * 16 + 16; c++) {
            const int32_t h = c / 8, d = c % 8;
            state_k[((h * 3 + slot / 16) * 8 + d) * 16 + slot % 16] = (_Float16)k[(size_t)t * 16 + c];
            state_v[(h * 48 + slot) * 8 + d] = (_Float16)v[(size_t)t * 16 + c];
        }
    }
}
