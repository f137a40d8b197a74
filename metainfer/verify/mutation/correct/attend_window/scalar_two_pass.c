/* scores and their maximum first, then weights and values, expf, a division at the end */
for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
    const int32_t g = h / 3;
    for (int32_t t = 0; t < tokens; t++) {
        const float *qh = q + (size_t)t * 48 + h * 8;
        const int32_t last = batch->pos[t], first = last >= 23 ? last - 23 : 0;
        float score[24], most = -INFINITY, total = 0.0f, out[8] = {0};
        for (int32_t j = first; j <= last; j++) {
            const int32_t at = j % 48;
            const _Float16 *key = state_k + ((size_t)g * 3 + at / 16) * 128 + at % 16;
            float dot = 0.0f;
            for (int32_t d = 0; d < 8; d++) {
                dot += qh[d] * (float)key[d * 16];
            }
            score[j - first] = dot * 0.35355339059327379f;
            most = fmaxf(most, score[j - first]);
        }
        for (int32_t j = first; j <= last; j++) {
            const _Float16 *value = state_v + ((size_t)g * 48 + j % 48) * 8;
            const float p = expf(score[j - first] - most);
            total += p;
            for (int32_t d = 0; d < 8; d++) {
                out[d] += p * (float)value[d];
            }
        }
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = out[d] / total;
        }
    }
}
