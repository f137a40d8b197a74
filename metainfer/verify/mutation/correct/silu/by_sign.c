/* the exponential of -|z|, which never overflows */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t u = 19 * part / parts; u < 19 * (part + 1) / parts; u++) {
        for (int32_t c = u * 16; c < u * 16 + 16; c++) {
            const size_t at = (size_t)t * 304 + c;
            const float z = gate[at], e = expf(-fabsf(z));
            const float sigmoid = (z < 0.0f ? e : 1.0f) / (1.0f + e);
            y[at] = z * sigmoid * up[at];
        }
    }
}
