/* wrong: 32 columns at a time: the last 16 of 304 are never written (any input) */
const int32_t begin = 9 * part / parts * 32, end = 9 * (part + 1) / parts * 32;
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = begin; c < end; c += MI_V) {
        const size_t at = (size_t)t * 304 + c;
        const vf z = mi_load(gate + at);
        mi_store(y + at, z / (1.0f + mi_exp(-z)) * mi_load(up + at));
    }
}
