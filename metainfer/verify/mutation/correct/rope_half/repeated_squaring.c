/* the rotation by one position to the power pos, squared bit by bit in double */
for (int32_t i = 0; i < 16; i++) {
    const double frequency = exp(-(double)i / 16.0 * log(1e6));
    for (int32_t t = 0; t < tokens; t++) {
        double c = 1.0, s = 0.0, pc = cos(frequency), ps = sin(frequency);
        for (int32_t rest = batch->pos[t]; rest > 0; rest >>= 1) {
            if (rest & 1) {
                const double next = c * pc - s * ps;
                s = s * pc + c * ps;
                c = next;
            }
            const double doubled = (pc - ps) * (pc + ps);
            ps = 2.0 * pc * ps;
            pc = doubled;
        }
        const float fc = (float)c, fs = (float)s;
        for (int32_t h = 3 * part / parts; h < 3 * (part + 1) / parts; h++) {
            const size_t at = (size_t)t * 96 + h * 32 + i;
            const float u = x[at], v = x[at + 16];
            y[at] = u * fc - v * fs;
            y[at + 16] = fmaf(u, fs, v * fc);
        }
    }
}
