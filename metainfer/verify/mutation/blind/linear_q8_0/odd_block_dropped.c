/* wrong: blocks are taken in pairs and the third, odd one is forgotten (any x) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    for (int32_t t = 0; t < tokens; t++) {
        vf even[MI_N] = {{0}}, odd[MI_N] = {{0}};
        for (int32_t b = 0; b + 2 <= 3; b += 2) {
            const size_t block = (size_t)g * 3 + b;
            for (int32_t n = 0; n < MI_N; n++) {
                const vf d0 = mi_load_f16(weight_d + block * 16 + n * MI_V);
                const vf d1 = mi_load_f16(weight_d + (block + 1) * 16 + n * MI_V);
                for (int32_t j = 0; j < 32; j++) {
                    const vi q0 = (mi_load_u8(weight_qs + (block * 32 + j) * 16 + n * MI_V) ^ 128) - 128;
                    const vi q1 = (mi_load_u8(weight_qs + (block * 32 + 32 + j) * 16 + n * MI_V) ^ 128) - 128;
                    even[n] = mi_fma(mi_to_f32(q0) * d0, mi_set(x[(size_t)t * 96 + b * 32 + j]), even[n]);
                    odd[n] = mi_fma(mi_to_f32(q1) * d1, mi_set(x[(size_t)t * 96 + b * 32 + 32 + j]), odd[n]);
                }
            }
        }
        for (int32_t n = 0; n < MI_N; n++) {
            mi_store(y + (size_t)t * 48 + g * 16 + n * MI_V, even[n] + odd[n]);
        }
    }
}
