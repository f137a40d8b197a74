/* blocks outside, tokens inside; the scale times 128 is taken off where the sign bit is set */
const int32_t begin = tokens * part / parts, end = tokens * (part + 1) / parts;
for (int32_t b = 1; b >= 0; b--) {
    for (int32_t j = 0; j < 32; j++) {
        for (int32_t t = begin; t < end; t++) {
            const int32_t id = batch->ids[t];
            const size_t block = (size_t)(id / 16) * 2 + b;
            const int32_t u = weight_qs[(block * 32 + j) * 16 + id % 16];
            const float d = (float)weight_d[block * 16 + id % 16];
            y[(size_t)t * 64 + b * 32 + j] = fmaf((float)(u & 127), d, u & 128 ? -128.0f * d : 0.0f);
        }
    }
}
