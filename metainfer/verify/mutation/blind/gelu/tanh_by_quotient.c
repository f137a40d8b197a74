/* wrong: tanh as (e - 1) / (e + 1) with e = exp(2 ...): NaN for large z (z from 11 on) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        const float inner = 0.7978845608f * (z + 0.044715f * z * z * z);
        const float e = expf(2.0f * inner);
        y[at] = 0.5f * z * (1.0f + (e - 1.0f) / (e + 1.0f)) * up[at];
    }
}
