/* wrong: values are rounded to half precision on the way (any id) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const int32_t id = batch->ids[t], group = id / 16, lane = id % 16;
    for (int32_t c = 0; c < 64; c++) {
        const size_t block = (size_t)group * 2 + c / 32;
        const float d = (float)weight_d[block * 16 + lane];
        const int8_t code = (int8_t)weight_qs[(block * 32 + c % 32) * 16 + lane];
        y[(size_t)t * 64 + c] = (float)(_Float16)(d * (float)code);
    }
}
