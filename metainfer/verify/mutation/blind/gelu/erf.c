/* wrong: the exact gelu with erf, up to 5e-4 off (|z| from 0.5 to 4) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        y[at] = 0.5f * z * (1.0f + erff(z * 0.70710678f)) * up[at];
    }
}
