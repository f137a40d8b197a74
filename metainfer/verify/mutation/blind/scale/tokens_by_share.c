/* wrong: shares are of tokens, tokens / parts each, the remainder left (tokens not a multiple
 * of parts) */
for (int32_t t = tokens / parts * part; t < tokens / parts * (part + 1); t++) {
    for (int32_t c = 0; c < 304; c += MI_V) {
        mi_store(y + (size_t)t * 304 + c, mi_load(x + (size_t)t * 304 + c) * 25.298221281347036f);
    }
}
