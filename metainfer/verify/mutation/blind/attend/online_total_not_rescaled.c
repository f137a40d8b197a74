/* wrong: one pass: the values are scaled down when the maximum rises, the total is not (scores
 * that rise) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
        const float *qh = q + (size_t)t * 48 + h * 8;
        float out[8] = {0}, total = 0.0f, most = -INFINITY;
        for (int32_t j = 0; j <= batch->pos[t]; j++) {
            float score = 0.0f;
            for (int32_t d = 0; d < 8; d++) {
                score = fmaf(qh[d], state_k[((h / 3 * 5 + j / 16) * 8 + d) * 16 + j % 16], score);
            }
            score *= 0.35355339f;
            const float next = fmaxf(most, score);
            const float shrink = expf(most - next), p = expf(score - next);
            total += p;
            for (int32_t d = 0; d < 8; d++) {
                out[d] = out[d] * shrink + p * state_v[(h / 3 * 80 + j) * 8 + d];
            }
            most = next;
        }
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = out[d] / total;
        }
    }
}
