/* wrong: each block of 16 positions subtracts its own maximum and the blocks are added as they
 * are (pos from 16 on) */
for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        float out[8] = {0}, total = 0.0f;
        for (int32_t first = 0; first <= batch->pos[t]; first += 16) {
            const int32_t count = batch->pos[t] + 1 - first < 16 ? batch->pos[t] + 1 - first : 16;
            const float *keys = state_k + (h / 3 * 5 + first / 16) * 128;
            float score[16], most = -INFINITY;
            for (int32_t i = 0; i < count; i++) {
                score[i] = 0.0f;
                for (int32_t d = 0; d < 8; d++) {
                    score[i] += q[(size_t)t * 48 + h * 8 + d] * keys[d * 16 + i];
                }
                score[i] *= 0.35355339f;
                most = fmaxf(most, score[i]);
            }
            for (int32_t i = 0; i < count; i++) {
                const float p = expf(score[i] - most);
                total += p;
                for (int32_t d = 0; d < 8; d++) {
                    out[d] += p * state_v[(h / 3 * 80 + first + i) * 8 + d];
                }
            }
        }
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = out[d] / total;
        }
    }
}
