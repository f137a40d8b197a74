/* blocks of the ring as they lie in memory; each has its own maximum, then they are joined */
for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t last = batch->pos[t], begin = last > 23 ? last - 23 : 0;
        float most[3], total[3], out[3][8];
        for (int32_t b = 0; b < 3; b++) {
            const _Float16 *keys = state_k + ((size_t)(h / 3) * 3 + b) * 128;
            const _Float16 *values = state_v + ((size_t)(h / 3) * 48 + b * 16) * 8;
            float score[16];
            int32_t seen[16];
            most[b] = -INFINITY;
            total[b] = 0.0f;
            for (int32_t d = 0; d < 8; d++) {
                out[b][d] = 0.0f;
            }
            for (int32_t i = 0; i < 16; i++) {
                const int32_t position = last - (last % 48 - (b * 16 + i) + 48) % 48;
                seen[i] = position >= begin;
                if (seen[i]) {
                    float dot = 0.0f;
                    for (int32_t d = 7; d >= 0; d--) {
                        dot = fmaf(q[(size_t)t * 48 + h * 8 + d], (float)keys[d * 16 + i], dot);
                    }
                    score[i] = dot * 0.35355339059327379f;
                    most[b] = score[i] > most[b] ? score[i] : most[b];
                }
            }
            for (int32_t i = 0; i < 16; i++) {
                if (seen[i]) {
                    const float p = expf(score[i] - most[b]);
                    total[b] += p;
                    for (int32_t d = 0; d < 8; d++) {
                        out[b][d] += p * (float)values[i * 8 + d];
                    }
                }
            }
        }
        const float top = fmaxf(most[0], fmaxf(most[1], most[2]));
        const float e0 = expf(most[0] - top), e1 = expf(most[1] - top), e2 = expf(most[2] - top);
        const float sum = total[0] * e0 + total[1] * e1 + total[2] * e2;
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = (out[0][d] * e0 + out[1][d] * e1 + out[2][d] * e2) / sum;
        }
    }
}
