/* Bodies for `scale` in which nothing is wrong: name, the body. */

/// a choice by data:
y[0] = x[0] > 0.0f ? x[1] : 0.0f;

/// a table by data:
const float t[] = {1.0f, 2.0f, 3.0f, 4.0f};
y[0] = mi_lookup_one(t, (int32_t)x[0] & 3);

/// a table by lanes:
const float t[16] = {0};
mi_store(y, mi_lookup(t, (vi)mi_load(x) & 15));

/// a table of places:
const int32_t at[] = {3, 1, 303};
for (int32_t i = 0; i < 3; i++)
    y[at[i]] = x[at[i]];

/// units rounded up:
const int32_t each = (19 + parts - 1) / parts;
int32_t end = (part + 1) * each;
if (end > 19)
    end = 19;
for (int32_t u = part * each; u < end; u++)
    for (int32_t c = 0; c < 16; c++)
        y[u * 16 + c] = x[u * 16 + c];

/// a guard by return:
if (part != 0)
    return;
parts = 1;
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++)
    y[t * 304] = x[t * 304];

/// a pointer that walks:
float *p = y;
for (int32_t t = 0; t < tokens; t++) {
    p[303] = 0.0f;
    p += 304;
}

/// a step in the middle:
int32_t i = 0;
for (int32_t t = 0; t < tokens; t++) {
    y[i] = 0.0f;
    i += 304;
}

/// a search that breaks off:
int32_t i = 0;
for (; i < 304; i++)
    if (i * i > 100 * part)
        break;
if (i < 304)
    y[i] = 0.0f;

/// unused parameters:
(void)x;
(void)part;
/* nothing */

/// tail by tail:
for (int32_t c = 0; c < 304; c += 10)
    for (int32_t i = c; i < c + 10 && i < 304; i++)
        y[i] = x[i];
