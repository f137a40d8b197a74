/* signed bytes gathered as floats, then scaled a vector at a time */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const int32_t group = batch->ids[t] >> 4, lane = batch->ids[t] & 15;
    const uint8_t *column = weight_qs + (size_t)group * 64 * 16 + lane;
    float q[64];
    for (int32_t c = 0; c < 64; c++) {
        q[c] = (float)(int8_t)column[c * 16];
    }
    for (int32_t c = 0; c < 64; c += MI_V) {
        const float d = (float)weight_d[((size_t)group * 2 + c / 32) * 16 + lane];
        mi_store(y + (size_t)t * 64 + c, mi_load(q + c) * d);
    }
}
