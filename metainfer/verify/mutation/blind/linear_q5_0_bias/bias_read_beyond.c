/* wrong: a whole vector of the bias is read for the padding rows too, past its end (any input;
 * values are right) */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    vf shift[MI_N];
    for (int32_t n = 0; n < MI_N; n++) {
        shift[n] = mi_load(bias + g * 16 + n * MI_V);
    }
    for (int32_t t = 0; t < tokens; t++) {
        float out[16];
        for (int32_t n = 0; n < MI_N; n++) {
            mi_store(out + n * MI_V, shift[n]);
        }
        for (int32_t b = 0; b < 2; b++) {
            for (int32_t e = 0; e < 32; e++) {
                for (int32_t lane = 0; lane < 16; lane++) {
                    const int32_t block = g * 2 + b;
                    const int32_t byte = weight_qs[(block * 16 + e % 16) * 16 + lane];
                    const int32_t bit = weight_qh[(block * 4 + e / 8) * 16 + lane] >> (e % 8) & 1;
                    const float w = (float)weight_d[block * 16 + lane] * (float)((e < 16 ? byte & 15 : byte >> 4) + 16 * bit - 16);
                    out[lane] += w * x[(size_t)t * 64 + b * 32 + e];
                }
            }
        }
        memcpy(y + (size_t)t * 40 + g * 16, out, (size_t)(g == 2 ? 8 : 16) * sizeof(float));
    }
}
