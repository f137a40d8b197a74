/* wrong: the exponent counts pairs from 1 (pos > 0) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
        const float *xh = x + (size_t)t * 96 + h * 32;
        float *yh = y + (size_t)t * 96 + h * 32;
        for (int32_t i = 0; i < 16; i++) {
            const double angle = batch->pos[t] * pow(1e6, -2.0 * (i + 1) / 32);
            const float c = (float)cos(angle), s = (float)sin(angle);
            const float u = xh[i], v = xh[i + 16];
            yh[i] = u * c - v * s;
            yh[i + 16] = v * c + u * s;
        }
    }
}
