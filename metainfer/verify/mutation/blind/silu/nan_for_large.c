/* wrong: e^z / (1 + e^z): infinity by infinity for large z (z from 89 on) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        const float e = expf(z);
        y[at] = z * (e / (1.0f + e)) * up[at];
    }
}
