/* wrong: the exponent is -2c / head_dim with c the element, twice too large (pos > 0) */
for (int32_t u = 6 * part / parts; u < 6 * (part + 1) / parts; u++) {
    for (int32_t t = 0; t < tokens; t++) {
        const float *xr = x + (size_t)t * 96;
        float *yr = y + (size_t)t * 96;
        for (int32_t c = u * 16; c < u * 16 + 16; c += 2) {
            const double angle = batch->pos[t] * pow(1e4, -2.0 * (c % 32) / 32.0);
            const float cosine = (float)cos(angle), sine = (float)sin(angle);
            yr[c] = xr[c] * cosine - xr[c + 1] * sine;
            yr[c + 1] = xr[c] * sine + xr[c + 1] * cosine;
        }
    }
}
