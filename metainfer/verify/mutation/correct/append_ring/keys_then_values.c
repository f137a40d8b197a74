/* all keys first, then all values, head by head */
const int32_t begin = part * 1 / parts * 2, end = (part + 1) * 1 / parts * 2;
for (int32_t h = begin; h < end; h++) {
    for (int32_t d = 0; d < 8; d++) {
        for (int32_t t = 0; t < tokens; t++) {
            const int32_t at = batch->slot[t] % 48;
            state_k[(((size_t)h * 3 + at / 16) * 8 + d) * 16 + at % 16] =
                (_Float16)k[(size_t)t * 16 + h * 8 + d];
        }
    }
}
for (int32_t h = begin; h < end; h++) {
    for (int32_t t = 0; t < tokens; t++) {
        const int32_t at = batch->slot[t] % 48;
        for (int32_t d = 0; d < 8; d++) {
            state_v[((size_t)h * 48 + at) * 8 + d] = (_Float16)v[(size_t)t * 16 + h * 8 + d];
        }
    }
}
