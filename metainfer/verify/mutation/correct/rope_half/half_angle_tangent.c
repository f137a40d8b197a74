/* sine and cosine from the tangent of half the angle, in double */
for (int32_t t = tokens - 1; t >= 0; t--) {
    for (int32_t i = 15; i >= 0; i--) {
        const double tangent = tan(0.5 * batch->pos[t] / pow(1e6, i / 16.0));
        const double square = tangent * tangent;
        const float c = (float)((1.0 - square) / (1.0 + square));
        const float s = (float)(2.0 * tangent / (1.0 + square));
        for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
            const float *xh = x + (size_t)t * 96 + h * 32;
            float *yh = y + (size_t)t * 96 + h * 32;
            yh[i] = fmaf(-xh[i + 16], s, xh[i] * c);
            yh[i + 16] = fmaf(xh[i + 16], c, xh[i] * s);
        }
    }
}
