/* wrong: frequencies are a running product in float, so the error grows with the pair and pos
 * (late positions) */
for (int32_t t = 0; t < tokens; t++) {
    float frequency = 1.0f;
    for (int32_t i = 0; i < 16; i++) {
        const double angle = (double)batch->pos[t] * (double)frequency;
        const float c = (float)cos(angle), s = (float)sin(angle);
        frequency *= 0.4217f;
        for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
            const size_t at = (size_t)t * 96 + h * 32 + i;
            y[at] = x[at] * c - x[at + 16] * s;
            y[at + 16] = x[at + 16] * c + x[at] * s;
        }
    }
}
