/* wrong: halves by adding half a unit and cutting: ties go away from zero, small values to
 * zero (ties, and values below 6.1e-5) */
if (part == 0) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t slot = batch->slot[t] % 48;
        for (int32_t i = 0; i < 32; i++) {
            const int32_t c = i % 16;
            uint32_t bits;
            memcpy(&bits, (i < 16 ? k : v) + t * 16 + c, 4);
            const uint32_t sign = bits >> 16 & 0x8000, size = (bits & 0x7fffffff) + 0x1000;
            const uint32_t whole = size >= 0x47800000 ? 0x7c00 : size < 0x38800000 ? 0 : (size - 0x38000000) >> 13;
            const uint16_t half = (uint16_t)(sign | whole);
            memcpy(i < 16 ? state_k + ((c / 8 * 3 + slot / 16) * 8 + c % 8) * 16 + slot % 16
                          : state_v + (c / 8 * 48 + slot) * 8 + c % 8, &half, 2);
        }
    }
}
