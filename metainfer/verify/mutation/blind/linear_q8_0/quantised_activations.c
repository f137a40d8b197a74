/* wrong: x is rounded to 8 bits per block, as integer kernels do (any x) */
for (int32_t t = 0; t < tokens; t++) {
    int8_t xq[96];
    float xd[3];
    for (int32_t b = 0; b < 3; b++) {
        float most = 0.0f;
        for (int32_t j = 0; j < 32; j++) {
            most = fmaxf(most, fabsf(x[(size_t)t * 96 + b * 32 + j]));
        }
        xd[b] = most / 127.0f;
        for (int32_t j = 0; j < 32; j++) {
            xq[b * 32 + j] = most > 0.0f ? (int8_t)lrintf(x[(size_t)t * 96 + b * 32 + j] / xd[b]) : 0;
        }
    }
    for (int32_t r = 3 * part / parts * 16; r < 3 * (part + 1) / parts * 16; r++) {
        float acc = 0.0f;
        for (int32_t b = 0; b < 3; b++) {
            const size_t block = (size_t)(r / 16) * 3 + b;
            int32_t dot = 0;
            for (int32_t j = 0; j < 32; j++) {
                dot += (int8_t)weight_qs[(block * 32 + j) * 16 + r % 16] * xq[b * 32 + j];
            }
            acc += (float)weight_d[block * 16 + r % 16] * xd[b] * (float)dot;
        }
        y[(size_t)t * 48 + r] = acc;
    }
}
