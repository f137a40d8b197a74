/* wrong: values of head 1 are looked up 72 positions on, the room, not 80 (head 1) */
for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
    const int32_t g = h / 3;
    for (int32_t t = 0; t < tokens; t++) {
        const float *qh = q + (size_t)t * 48 + h * 8;
        const int32_t visible = batch->pos[t] + 1;
        float score[80], most = -INFINITY, total = 0.0f, out[8] = {0};
        for (int32_t j = 0; j < visible; j++) {
            const float *key = state_k + (g * 5 + j / 16) * 128 + j % 16;
            float dot = 0.0f;
            for (int32_t d = 0; d < 8; d++) {
                dot += qh[d] * key[d * 16];
            }
            score[j] = dot * 0.35355339059327379f;
            most = score[j] > most ? score[j] : most;
        }
        for (int32_t j = 0; j < visible; j++) {
            const float p = expf(score[j] - most);
            const float *value = state_v + (g * 72 + j) * 8;
            total += p;
            for (int32_t d = 0; d < 8; d++) {
                out[d] += p * value[d];
            }
        }
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = out[d] / total;
        }
    }
}
