/* wrong: frequency and angle are floats, in error by pos * 1e-7 (from pos = 100 or so on,
 * clear at 1000) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
        const float *xh = x + (size_t)t * 96 + h * 32;
        float *yh = y + (size_t)t * 96 + h * 32;
        for (int32_t i = 0; i < 16; i++) {
            const float angle = (float)batch->pos[t] * powf(1e6f, -2.0f * (float)i / 32.0f);
            const float c = cosf(angle), s = sinf(angle);
            const float u = xh[i], v = xh[i + 16];
            yh[i] = u * c - v * s;
            yh[i + 16] = v * c + u * s;
        }
    }
}
