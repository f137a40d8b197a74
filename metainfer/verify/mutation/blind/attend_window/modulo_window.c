/* wrong: positions are taken modulo the window, 24 (pos from 24 on) */
for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
    const _Float16 *keys = state_k + h / 3 * 384, *values = state_v + h / 3 * 384;
    for (int32_t t = 0; t < tokens; t++) {
        const float *qh = q + (size_t)t * 48 + h * 8;
        const int32_t last = batch->pos[t];
        const int32_t begin = last - 23 > 0 ? last - 23 : 0;
        float score[96], most = -INFINITY, total = 0.0f, out[8] = {0};
        for (int32_t j = begin; j <= last; j++) {
            const int32_t at = j % 24;
            float dot = 0.0f;
            for (int32_t d = 0; d < 8; d++) {
                dot += qh[d] * (float)keys[(at / 16 * 8 + d) * 16 + at % 16];
            }
            score[j - begin] = dot * 0.35355339059327379f;
            most = fmaxf(most, score[j - begin]);
        }
        for (int32_t j = begin; j <= last; j++) {
            const int32_t at = j % 24;
            const float p = expf(score[j - begin] - most);
            total += p;
            for (int32_t d = 0; d < 8; d++) {
                out[d] += p * (float)values[at * 8 + d];
            }
        }
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = out[d] / total;
        }
    }
}
