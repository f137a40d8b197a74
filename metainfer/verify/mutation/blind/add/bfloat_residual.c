/* wrong: b is cut to bfloat16 (most b) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        uint32_t bits;
        memcpy(&bits, b + at, 4);
        y[at] = a[at] + mi_bf16((uint16_t)(bits >> 16));
    }
}
