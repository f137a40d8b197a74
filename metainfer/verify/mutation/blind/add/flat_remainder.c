/* wrong: the elements of all rows are shared in eights and the remainder is left (parts = 3 or
 * 5) */
const int32_t count = tokens * 304 / parts / 8 * 8;
for (int32_t at = count * part; at < count * (part + 1); at++) {
    y[at] = a[at] + b[at];
}
