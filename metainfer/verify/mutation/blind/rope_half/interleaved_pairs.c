/* wrong: pairs are (2i, 2i + 1) instead of (i, i + 16) (pos > 0) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
        const float *xh = x + (size_t)t * 96 + h * 32;
        float *yh = y + (size_t)t * 96 + h * 32;
        for (int32_t i = 0; i < 16; i++) {
            const double angle = batch->pos[t] * pow(1e6, -2.0 * i / 32);
            const float c = (float)cos(angle), s = (float)sin(angle);
            const float u = xh[2 * i], v = xh[2 * i + 1];
            yh[2 * i] = u * c - v * s;
            yh[2 * i + 1] = v * c + u * s;
        }
    }
}
