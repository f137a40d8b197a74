/* wrong: a part takes 304 / parts columns, the remainder is written by nobody (parts = 3) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 304 / parts * part; c < 304 / parts * (part + 1); c++) {
        const size_t at = (size_t)t * 304 + c;
        const float z = gate[at];
        y[at] = z / (1.0f + expf(-z)) * up[at];
    }
}
