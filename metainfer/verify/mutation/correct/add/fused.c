/* 16 elements through local arrays, as a * 1 + b with one rounding */
for (int32_t u = 19 * part / parts; u < 19 * (part + 1) / parts; u++) {
    for (int32_t t = 0; t < tokens; t++) {
        const size_t at = (size_t)t * 304 + u * 16;
        float left[16], right[16];
        memcpy(left, a + at, sizeof left);
        memcpy(right, b + at, sizeof right);
        for (int32_t i = 0; i < 16; i += MI_V) {
            mi_store(left + i, mi_fma(mi_load(left + i), mi_set(1.0f), mi_load(right + i)));
        }
        memcpy(y + at, left, sizeof left);
    }
}
