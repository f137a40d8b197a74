/* wrong: lanes after the slot are set to zero for the reader's sake, over later positions (any
 * state) */
if (part == parts - 1) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t slot = batch->slot[t];
        for (int32_t c = 0; c < 16; c++) {
            const int32_t h = c / 8, d = c % 8;
            float *lanes = state_k + ((h * 5 + slot / 16) * 8 + d) * 16;
            lanes[slot % 16] = k[t * 16 + c];
            for (int32_t i = slot % 16 + 1; i < 16; i++) {
                lanes[i] = 0.0f;
            }
            state_v[(h * 80 + slot) * 8 + d] = v[t * 16 + c];
        }
    }
}
