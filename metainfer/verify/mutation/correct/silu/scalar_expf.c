/* expf, one element after the other */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = 19 * part / parts * 16; c < 19 * (part + 1) / parts * 16; c++) {
        const float z = gate[(size_t)t * 304 + c];
        y[(size_t)t * 304 + c] = z / (1.0f + expf(-z)) * up[(size_t)t * 304 + c];
    }
}
