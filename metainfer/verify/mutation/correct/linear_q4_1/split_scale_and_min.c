/* per block d * sum(q * x) + m * sum(x), lanes are rows */
for (int32_t t = 0; t < tokens; t++) {
    const float *xt = x + (size_t)t * 64;
    float run[2] = {0.0f, 0.0f};
    for (int32_t k = 0; k < 32; k++) {
        run[0] += xt[k];
        run[1] += xt[32 + k];
    }
    for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
        vf total[MI_N] = {{0}};
        for (int32_t b = 0; b < 2; b++) {
            const size_t block = (size_t)g * 2 + b;
            const uint8_t *qs = weight_qs + block * 256;
            vf dot[MI_N] = {{0}};
            for (int32_t j = 0; j < 16; j++) {
                for (int32_t n = 0; n < MI_N; n++) {
                    const vi byte = mi_load_u8(qs + j * 16 + n * MI_V);
                    dot[n] = mi_fma(mi_to_f32(byte & 15), mi_set(xt[b * 32 + j]), dot[n]);
                    dot[n] = mi_fma(mi_to_f32(byte >> 4), mi_set(xt[b * 32 + 16 + j]), dot[n]);
                }
            }
            for (int32_t n = 0; n < MI_N; n++) {
                const vf d = mi_load_f16(weight_d + block * 16 + n * MI_V);
                const vf m = mi_load_f16(weight_m + block * 16 + n * MI_V);
                total[n] += d * dot[n] + m * run[b];
            }
        }
        for (int32_t n = 0; n < MI_N; n++) {
            const int32_t r = g * 16 + n * MI_V;
            const int32_t rest = 40 - r < MI_V ? 40 - r : MI_V;
            if (rest > 0) {
                mi_store_n(y + (size_t)t * 40 + r, total[n], rest);
            }
        }
    }
}
