/* wrong: part 0 stores keys and part 1 values: with one part there are no values (parts = 1) */
for (int32_t t = 0; t < tokens && part < 2; t++) {
    const int32_t slot = batch->slot[t];
    for (int32_t c = 0; c < 16; c++) {
        if (part == 0) {
            state_k[((c / 8 * 5 + slot / 16) * 8 + c % 8) * 16 + slot % 16] = k[(size_t)t * 16 + c];
        } else {
            state_v[(c / 8 * 80 + slot) * 8 + c % 8] = v[(size_t)t * 16 + c];
        }
    }
}
