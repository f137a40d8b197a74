/* wrong: a part takes ceil(19 / parts) groups of 16 columns with no limit: into the next row
 * and past the end (parts = 2, 3) */
for (int32_t t = 0; t < tokens; t++) {
    for (int32_t c = (19 + parts - 1) / parts * part * 16; c < (19 + parts - 1) / parts * (part + 1) * 16; c++) {
        const size_t at = (size_t)t * 304 + c;
        y[at] = a[at] + b[at];
    }
}
