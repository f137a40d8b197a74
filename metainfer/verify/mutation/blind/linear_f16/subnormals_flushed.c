/* wrong: a decoder of its own takes subnormal half floats as zero (weights below 6.1e-5) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t lane = 0; lane < 16 && g * 16 + lane < 40; lane++) {
        for (int32_t t = 0; t < tokens; t++) {
            float acc = 0.0f;
            for (int32_t k = 0; k < 48; k++) {
                uint16_t h;
                memcpy(&h, &weight_w[((size_t)g * 48 + k) * 16 + lane], 2);
                const uint32_t exponent = h >> 10 & 31;
                uint32_t bits = (uint32_t)(h & 0x8000) << 16;
                if (exponent == 31) {
                    bits |= 0x7f800000u | (uint32_t)(h & 1023) << 13;
                } else if (exponent != 0) {
                    bits |= (exponent + 112) << 23 | (uint32_t)(h & 1023) << 13;
                }
                float w;
                memcpy(&w, &bits, 4);
                acc = fmaf(w, x[(size_t)t * 48 + k], acc);
            }
            y[(size_t)t * 40 + g * 16 + lane] = acc;
        }
    }
}
