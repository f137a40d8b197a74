/* wrong: heads of keys are 72 / 16 = 4 blocks apart, the fifth forgotten (head 1) */
if (part == 0) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t slot = batch->slot[t], block = slot / 16, lane = slot % 16;
        for (int32_t h = 0; h < 2; h++) {
            for (int32_t d = 0; d < 8; d++) {
                state_k[((h * 4 + block) * 8 + d) * 16 + lane] = k[(size_t)t * 16 + h * 8 + d];
                state_v[(h * 80 + slot) * 8 + d] = v[(size_t)t * 16 + h * 8 + d];
            }
        }
    }
}
