/* one pass: sums are scaled down whenever a larger score comes */
for (int32_t t = 0; t < tokens; t++) {
    const int32_t last = batch->pos[t];
    for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
        const _Float16 *keys = state_k + (size_t)(h / 3) * 384;
        const _Float16 *values = state_v + (size_t)(h / 3) * 384;
        float qs[8], out[8] = {0}, most = -INFINITY, total = 0.0f;
        for (int32_t d = 0; d < 8; d++) {
            qs[d] = q[(size_t)t * 48 + h * 8 + d] * 0.35355339059327379f;
        }
        for (int32_t j = last > 23 ? last - 23 : 0; j <= last; j++) {
            const int32_t at = j % 48;
            float s[4];
            for (int32_t d = 0; d < 4; d++) {
                s[d] = qs[d] * (float)keys[(at / 16 * 8 + d) * 16 + at % 16] +
                       qs[d + 4] * (float)keys[(at / 16 * 8 + d + 4) * 16 + at % 16];
            }
            const float score = (s[0] + s[1]) + (s[2] + s[3]);
            const float next = score > most ? score : most;
            const float shrink = expf(most - next), p = expf(score - next);
            total = total * shrink + p;
            for (int32_t d = 0; d < 8; d++) {
                out[d] = fmaf(p, (float)values[at * 8 + d], out[d] * shrink);
            }
            most = next;
        }
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = out[d] * (1.0f / total);
        }
    }
}
