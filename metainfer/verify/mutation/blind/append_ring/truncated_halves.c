/* wrong: halves are made by cutting off the low bits, not by rounding (most k) */
if (part == 0) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t slot = batch->slot[t] % 48;
        for (int32_t c = 0; c < 16; c++) {
            float source[2] = {k[t * 16 + c], v[t * 16 + c]};
            for (int32_t i = 0; i < 2; i++) {
                uint32_t bits;
                memcpy(&bits, &source[i], 4);
                bits &= 0xffffe000u;
                memcpy(&source[i], &bits, 4);
            }
            state_k[((c / 8 * 3 + slot / 16) * 8 + c % 8) * 16 + slot % 16] = (_Float16)source[0];
            state_v[(c / 8 * 48 + slot) * 8 + c % 8] = (_Float16)source[1];
        }
    }
}
