/* wrong: the inverse root is the bit trick with one Newton step, 1e-3 off (any x) */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const float *xr = x + (size_t)t * 80;
    float sum = 0.0f;
    for (int32_t c = 0; c < 80; c++) {
        sum += xr[c] * xr[c];
    }
    const float v = sum / 80.0f + 1e-5f;
    int32_t bits;
    float inverse;
    memcpy(&bits, &v, 4);
    bits = 0x5f3759df - (bits >> 1);
    memcpy(&inverse, &bits, 4);
    inverse *= 1.5f - 0.5f * v * inverse * inverse;
    for (int32_t c = 0; c < 80; c++) {
        y[(size_t)t * 80 + c] = xr[c] * inverse * weight[c];
    }
}
