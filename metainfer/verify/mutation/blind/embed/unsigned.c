/* wrong: bytes are taken as unsigned (any byte over 127) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const int32_t id = batch->ids[t], group = id / 16, lane = id % 16;
    for (int32_t c = 0; c < 64; c++) {
        const size_t block = (size_t)group * 2 + c / 32;
        const float d = (float)weight_d[block * 16 + lane];
        const uint8_t code = weight_qs[(block * 32 + c % 32) * 16 + lane];
        y[(size_t)t * 64 + c] = d * (float)code;
    }
}
