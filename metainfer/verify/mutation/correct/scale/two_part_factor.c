/* the factor as a float and the rest that the float misses */
const float high = 25.298219680786133f, low = 1.600560903e-6f;
for (int32_t t = tokens - 1; t >= 0; t--) {
    for (int32_t u = 19 * part / parts; u < 19 * (part + 1) / parts; u++) {
        for (int32_t c = 0; c < 16; c += MI_V) {
            const size_t at = (size_t)t * 304 + u * 16 + c;
            const vf v = mi_load(x + at);
            mi_store(y + at, mi_fma(v, mi_set(high), v * low));
        }
    }
}
