/* five interleaved sums, the weight scaled before it meets x */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const float *xr = x + (size_t)t * 80;
    float s[5] = {0};
    for (int32_t c = 0; c < 80; c += 5) {
        for (int32_t i = 0; i < 5; i++) {
            s[i] += xr[c + i] * xr[c + i];
        }
    }
    const float mean = (s[0] + s[1] + s[2] + s[3] + s[4]) * 0.0125f;
    const float inverse = (float)(1.0 / sqrt((double)mean + 1e-5));
    for (int32_t c = 0; c < 80; c++) {
        y[(size_t)t * 80 + c] = weight[c] * inverse * xr[c];
    }
}
