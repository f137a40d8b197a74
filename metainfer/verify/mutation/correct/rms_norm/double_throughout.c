/* sum, root and quotient in double, one rounding at the end */
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    const float *xr = x + (size_t)t * 80;
    double sum = 0.0;
    for (int32_t c = 0; c < 80; c++) {
        sum += (double)xr[c] * (double)xr[c];
    }
    const double root = sqrt(sum / 80.0 + 1e-5);
    for (int32_t c = 0; c < 80; c++) {
        y[(size_t)t * 80 + c] = (float)((double)xr[c] / root * (double)weight[c]);
    }
}
