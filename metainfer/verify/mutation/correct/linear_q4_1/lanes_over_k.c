/* a row is decoded once, then eight partial sums over k, joined as a tree */
for (int32_t g = 3 * part / parts; g < 3 * (part + 1) / parts; g++) {
    const int32_t rows = 40 - g * 16 < 16 ? 40 - g * 16 : 16;
    for (int32_t lane = 0; lane < rows; lane++) {
        float w[64];
        for (int32_t b = 0; b < 2; b++) {
            const size_t at = ((size_t)g * 2 + b) * 16 + lane;
            const float d = (float)weight_d[at], m = (float)weight_m[at];
            for (int32_t j = 0; j < 16; j++) {
                const uint8_t byte = weight_qs[(((size_t)g * 2 + b) * 16 + j) * 16 + lane];
                w[b * 32 + j] = fmaf((float)(byte & 15), d, m);
                w[b * 32 + 16 + j] = fmaf((float)(byte >> 4), d, m);
            }
        }
        for (int32_t t = 0; t < tokens; t++) {
            const float *xt = x + (size_t)t * 64;
            float s[8] = {0};
            for (int32_t k = 0; k < 64; k += 8) {
                for (int32_t i = 0; i < 8; i++) {
                    s[i] = fmaf(w[k + i], xt[k + i], s[i]);
                }
            }
            y[(size_t)t * 40 + g * 16 + lane] =
                ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
        }
    }
}
