/* wrong: e^-z by scaling and shifting z into the bits of a float, 3% off (any z) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        const float power = fminf(fmaxf(-z * 12102203.0f + 1064866805.0f, 0.0f), 2139095040.0f);
        const int32_t bits = (int32_t)power;
        float e;
        memcpy(&e, &bits, 4);
        y[at] = z / (1.0f + e) * up[at];
    }
}
