/* wrong: columns are shared without regard to pairs: a share may begin with the second of a
 * pair (parts = 5) */
{
    for (int32_t t = 0; t < tokens; t++) {
        const float *xr = x + (size_t)t * 96;
        float *yr = y + (size_t)t * 96;
        for (int32_t c = 96 * part / parts; c < 96 * (part + 1) / parts; c += 2) {
            const double angle = batch->pos[t] * pow(1e4, -(double)(c % 32) / 32.0);
            const float cosine = (float)cos(angle), sine = (float)sin(angle);
            yr[c] = xr[c] * cosine - xr[c + 1] * sine;
            yr[c + 1] = xr[c] * sine + xr[c + 1] * cosine;
        }
    }
}
