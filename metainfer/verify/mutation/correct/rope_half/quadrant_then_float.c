/* angle reduced to a quadrant in double, then sinf and cosf of the rest */
for (int32_t t = 0; t < tokens; t++) {
    float cosine[16], sine[16];
    double frequency = 1.0;
    for (int32_t i = 0; i < 16; i++) {
        const double angle = batch->pos[t] * frequency;
        frequency *= 0.42169650342858224;
        const double turn = nearbyint(angle * 0.63661977236758134308);
        const double over = turn * 6.123233995736766e-17;
        const float rest = (float)(fma(-turn, 1.57079632679489655800, angle) - over);
        const int32_t quadrant = (int32_t)fmod(turn, 4.0);
        const float c = cosf(rest), s = sinf(rest);
        cosine[i] = quadrant == 0 ? c : quadrant == 1 ? -s : quadrant == 2 ? -c : s;
        sine[i] = quadrant == 0 ? s : quadrant == 1 ? c : quadrant == 2 ? -s : -c;
    }
    for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
        const float *xh = x + (size_t)t * 96 + h * 32;
        float *yh = y + (size_t)t * 96 + h * 32;
        for (int32_t i = 0; i < 16; i += MI_V) {
            const vf u = mi_load(xh + i), v = mi_load(xh + 16 + i);
            const vf c = mi_load(cosine + i), s = mi_load(sine + i);
            mi_store(yh + i, u * c - v * s);
            mi_store(yh + 16 + i, u * s + v * c);
        }
    }
}
