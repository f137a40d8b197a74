/* frequency by pow, angle, rotation and products in double */
for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        const float *xh = x + (size_t)t * 96 + h * 32;
        float *yh = y + (size_t)t * 96 + h * 32;
        for (int32_t i = 0; i < 16; i++) {
            const double angle = batch->pos[t] * pow(1e6, -2.0 * i / 32.0);
            const double c = cos(angle), s = sin(angle);
            yh[i] = (float)(xh[i] * c - xh[i + 16] * s);
            yh[i + 16] = (float)(xh[i] * s + xh[i + 16] * c);
        }
    }
}
