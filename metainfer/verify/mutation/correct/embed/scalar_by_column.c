/* column by column, sign by a cast to int8_t */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const int32_t id = batch->ids[t];
    for (int32_t c = 0; c < 64; c++) {
        const size_t block = (size_t)(id / 16) * 2 + c / 32;
        const int8_t q = (int8_t)weight_qs[(block * 32 + c % 32) * 16 + id % 16];
        y[(size_t)t * 64 + c] = (float)weight_d[block * 16 + id % 16] * (float)q;
    }
}
