/* wrong: the loop over pairs ends before the last of a head, which is never written (any input) */
for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        const size_t at = (size_t)t * 96 + h * 32;
        for (int32_t i = 0; i < 15; i++) {
            const double angle = batch->pos[t] / pow(1e4, i / 16.0);
            const float c = (float)cos(angle), s = (float)sin(angle);
            y[at + 2 * i] = x[at + 2 * i] * c - x[at + 2 * i + 1] * s;
            y[at + 2 * i + 1] = x[at + 2 * i] * s + x[at + 2 * i + 1] * c;
        }
    }
}
