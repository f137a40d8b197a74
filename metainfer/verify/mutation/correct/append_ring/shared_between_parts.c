/* the two heads are shared between the parts */
for (int32_t h = 2 * part / parts; h < 2 * (part + 1) / parts; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        const uint32_t at = (uint32_t)batch->slot[t] % 48u, block = at >> 4, lane = at & 15;
        const float *kt = k + (size_t)t * 16 + h * 8, *vt = v + (size_t)t * 16 + h * 8;
        _Float16 *key = state_k + (size_t)h * 384 + block * 128 + lane;
        _Float16 *value = state_v + (size_t)h * 384 + at * 8;
        for (int32_t d = 7; d >= 0; d--) {
            key[d * 16] = (_Float16)kt[d];
            value[d] = (_Float16)vt[d];
        }
    }
}
