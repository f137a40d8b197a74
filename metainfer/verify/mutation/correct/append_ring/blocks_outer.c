/* for each block of 16 positions, the tokens that fall into it */
if (part == parts - 1) {
    for (int32_t block = 0; block < 3; block++) {
        for (int32_t t = 0; t < tokens; t++) {
            const int32_t at = batch->slot[t] - batch->slot[t] / 48 * 48;
            if (at / 16 != block) {
                continue;
            }
            for (int32_t c = 0; c < 16; c++) {
                const size_t head = (size_t)(c / 8) * 384;
                const double key = k[(size_t)t * 16 + c], value = v[(size_t)t * 16 + c];
                state_k[head + block * 128 + c % 8 * 16 + at % 16] = (_Float16)key;
                state_v[head + at * 8 + c % 8] = (_Float16)value;
            }
        }
    }
}
