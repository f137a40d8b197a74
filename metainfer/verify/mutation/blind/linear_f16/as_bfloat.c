/* wrong: half floats are decoded as bfloat16 (any weight) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t t = 0; t < tokens; t++) {
        for (int32_t r = g * 16; r < g * 16 + 16 && r < 40; r++) {
            float acc = 0.0f;
            for (int32_t k = 0; k < 48; k++) {
                uint16_t bits;
                memcpy(&bits, weight_w + ((size_t)g * 48 + k) * 16 + r % 16, 2);
                acc += mi_bf16(bits) * x[(size_t)t * 48 + k];
            }
            y[(size_t)t * 40 + r] = acc;
        }
    }
}
