/* wrong: pairs are (i, i + 16) instead of (2i, 2i + 1) (pos > 0) */
for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        const size_t at = (size_t)t * 96 + h * 32;
        for (int32_t i = 0; i < 16; i++) {
            const double angle = batch->pos[t] / pow(1e4, i / 16.0);
            const float c = (float)cos(angle), s = (float)sin(angle);
            y[at + i] = x[at + i] * c - x[at + i + 16] * s;
            y[at + i + 16] = x[at + i] * s + x[at + i + 16] * c;
        }
    }
}
