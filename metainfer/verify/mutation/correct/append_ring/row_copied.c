/* a token is converted first, its values copied as a whole, its keys scattered */
if (1 * part / parts < 1 * (part + 1) / parts) {
    for (int32_t t = 0; t < tokens; t++) {
        int32_t at = batch->slot[t];
        while (at >= 48) {
            at -= 48;
        }
        _Float16 kt[16], vt[16];
        for (int32_t c = 0; c < 16; c++) {
            kt[c] = (_Float16)k[(size_t)t * 16 + c];
            vt[c] = (_Float16)v[(size_t)t * 16 + c];
        }
        memcpy(state_v + (size_t)at * 8, vt, 16);
        memcpy(state_v + (size_t)(48 + at) * 8, vt + 8, 16);
        _Float16 *block = state_k + (size_t)(at / 16) * 128 + at % 16;
        for (int32_t d = 0; d < 8; d++) {
            block[d * 16] = kt[d];
            block[384 + d * 16] = kt[8 + d];
        }
    }
}
