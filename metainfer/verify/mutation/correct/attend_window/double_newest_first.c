/* double throughout, from the newest position back */
for (int32_t h = 6 * part / parts; h < 6 * (part + 1) / parts; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t pos = batch->pos[t], count = pos + 1 < 24 ? pos + 1 : 24;
        double p[24], most = 0.0, total = 0.0, out[8] = {0};
        for (int32_t back = 0; back < count; back++) {
            const size_t at = (size_t)(pos - back) % 48;
            double dot = 0.0;
            for (int32_t d = 0; d < 8; d++) {
                const double key = (double)state_k[(h / 3 * 24 + at / 16 * 8 + d) * 16 + at % 16];
                dot += key * (double)q[(size_t)t * 48 + h * 8 + d];
            }
            p[back] = dot * 0.35355339059327379;
            most = back == 0 || p[back] > most ? p[back] : most;
        }
        for (int32_t back = 0; back < count; back++) {
            p[back] = exp(p[back] - most);
            total += p[back];
        }
        for (int32_t back = 0; back < count; back++) {
            const size_t at = (size_t)(pos - back) % 48;
            for (int32_t d = 0; d < 8; d++) {
                out[d] += p[back] / total * (double)state_v[(h / 3 * 48 + at) * 8 + d];
            }
        }
        for (int32_t d = 0; d < 8; d++) {
            y[(size_t)t * 48 + h * 8 + d] = (float)out[d];
        }
    }
}
