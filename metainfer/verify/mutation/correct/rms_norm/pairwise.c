/* squares added as a tree, then a division by the root */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const float *xr = x + (size_t)t * 80;
    float square[80];
    for (int32_t c = 0; c < 80; c++) {
        square[c] = xr[c] * xr[c];
    }
    for (int32_t width = 40; width >= 5; width /= 2) {
        for (int32_t c = 0; c < width; c++) {
            square[c] += square[c + width];
        }
    }
    const float sum = ((square[0] + square[1]) + (square[2] + square[3])) + square[4];
    const float root = sqrtf(sum / 80.0f + 1e-5f);
    for (int32_t c = 0; c < 80; c++) {
        y[(size_t)t * 80 + c] = xr[c] / root * weight[c];
    }
}
