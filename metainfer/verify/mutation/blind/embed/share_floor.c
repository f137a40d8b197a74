/* wrong: a part takes tokens / parts tokens, the remainder is written by nobody (tokens not a
 * multiple of parts) */
for (int32_t t = tokens / parts * part; t < tokens / parts * (part + 1); t++) {
    const int32_t id = batch->ids[t], group = id / 16, lane = id % 16;
    for (int32_t c = 0; c < 64; c++) {
        const size_t block = (size_t)group * 2 + c / 32;
        const float d = (float)weight_d[block * 16 + lane];
        const int8_t code = (int8_t)weight_qs[(block * 32 + c % 32) * 16 + lane];
        y[(size_t)t * 64 + c] = d * (float)code;
    }
}
