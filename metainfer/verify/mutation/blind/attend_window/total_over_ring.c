/* wrong: the total includes everything still in the ring, the values the window only (pos from
 * 24 on) */
for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
    const _Float16 *keys = state_k + h / 3 * 384, *values = state_v + h / 3 * 384;
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t last = batch->pos[t], kept = batch->kv_len[0] > 48 ? batch->kv_len[0] - 48 : 0;
        float score[48], most = -INFINITY, total = 0.0f, out[8] = {0};
        for (int32_t j = kept; j <= last; j++) {
            float dot = 0.0f;
            for (int32_t d = 0; d < 8; d++) {
                dot += q[(size_t)t * 48 + h * 8 + d] * (float)keys[(j % 48 / 16 * 8 + d) * 16 + j % 16];
            }
            score[j % 48] = dot * 0.35355339f;
            most = fmaxf(most, score[j % 48]);
        }
        for (int32_t j = kept; j <= last; j++) {
            const float p = expf(score[j % 48] - most);
            total += p;
            for (int32_t d = 0; d < 8 && j > last - 24; d++) {
                out[d] += p * (float)values[j % 48 * 8 + d];
            }
        }
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = out[d] / total;
        }
    }
}
