/* Bodies for `scale`, with x and y of (tokens, 304): name, what the reason says, the body. */

/// an index from data: an index depends on data
y[(int32_t)x[0]] = 0.0f;

/// a bound from data: depends on data
for (int32_t i = 0; i < (int32_t)x[0]; i++)
    y[i] = 0.0f;

/// a branch on data: a branch depends on data
if (x[0] > 0.0f)
    y[0] = x[0];

/// data through a variable: depends on data
int32_t i = 0;
i = (int32_t)x[0];
y[i] = 0.0f;

/// data through a choice: depends on data
const int32_t i = x[0] > 0.0f ? 1 : 0;
y[i] = 0.0f;

/// data through an array: depends on data
int32_t p[4] = {0};
for (int32_t i = 0; i < 4; i++) {
    y[p[i]] = 0.0f;
    p[3 - i] = (int32_t)x[i];
}

/// data through a copy: depends on data
int32_t bits = 0;
memcpy(&bits, x, 4);
y[bits] = 0.0f;

/// data in a loop before: depends on data
int32_t i = 0;
for (int32_t t = 0; t < 3; t++) {
    y[i] = 0.0f;
    i = (int32_t)x[t];
}

/// data as a count of lanes: depends on data
mi_store_n(y, mi_load(x), (int32_t)x[0]);

/// data through a vector: depends on data
int32_t p[16];
mi_store((float *)p, mi_load(x));
y[p[0] & 7] = 0.0f;

/// data through bytes: depends on data
int32_t p[1];
memcpy(p, x, 4);
y[p[0] & 7] = 0.0f;

/// data as a length: depends on data
memcpy(y, x, (size_t)x[0]);

/// a number that no int32_t holds: may overflow int32_t
const int32_t n = tokens * 200000000;
y[n * 0] = 0.0f;

/// a product that overflows in one part: may overflow int32_t
const int32_t n = 304 * 2000000 * part / parts;
y[n * 0] = 0.0f;

/// a counter that overflows: nothing is known to end this loop
for (int32_t i = 1; i > 0; i += 3)
    y[0] = 0.0f;

/// an unsigned number below zero: size_t
for (size_t i = 5; i >= 0; i--)
    y[i] = 0.0f;

/// an unsigned index below zero: may wrap
const size_t i = (size_t)part - 1;
y[i] = 0.0f;

/// a narrow number that wraps: before
const uint8_t i = 255 + part;
y[304 + i] = y[i - 1];

/// a loop without an end: nothing is known to end this loop
while (part >= 0)
    y[0] = 0.0f;

/// a loop without a condition: nothing is known to end this loop
for (;;)
    y[0] = 0.0f;

/// a loop whose end moves: nothing is known to end this loop
int32_t n = 4;
for (int32_t i = 0; i < n; i++) {
    y[i] = 0.0f;
    n++;
}

/// a step that is left out: may wrap: `i++`
int32_t i = 0;
for (int32_t t = 0; t < 300; t++) {
    if (t < 5)
        continue;
    y[i - 5] = 0.0f;
    i++;
}

/// a bound that held before: behind
int32_t n = 3;
if (n < 5) {
    n = 400;
} else {
    return;
}
y[n] = 0.0f;

/// a condition that a turn forgets: behind
for (int32_t i = 0; i < 1000; i++) {
    if (i < 304)
        continue;
    y[i] = 0.0f;
}

/// the row of an array of rows: leaves a row of 8
float a[3][8];
for (int32_t i = 0; i < 9; i++)
    a[1][i] = x[i];

/// a pointer into one of two: where this points is not known
const float *p = x;
if (part > 0)
    p = y;
y[0] = p[0];

/// a pointer that walks out: behind
float *p = y;
for (int32_t t = 0; t < tokens; t++) {
    p[303] = 0.0f;
    p += 305;
}

/// a pointer that was never set: has no value yet
const float *p;
y[0] = p[0];

/// a division by zero: divisor may be 0
y[4 / part] = 0.0f;

/// a shift too far: shifts by
y[1 << (part + 1)] = 0.0f;

/// a number as a pointer: where this points is not known
y[0] = *(const float *)tokens;

/// another type's elements: reads x as double
y[0] = (float)*(const double *)x;

/// a lane of no vector: none of the
const vf v = mi_load(x);
y[0] = v[MI_V];

/// a call of something: a call of 'memset' is not understood
memset(y, 0, 4);

/// a name of something: the name 'stdin' is not understood
y[0] = stdin;

/// a label: not understood
again:
    y[0] = 0.0f;
    goto again;

/// a side effect in an index: not understood
int32_t i = 0;
y[i++] = 0.0f;

/// no C: not understood
y[0] = = 1;

/// a table by data that is too short: 't'
const float t[] = {1.0f, 2.0f};
const int32_t i = ((int32_t)x[0] & 2);
y[0] = t[i];

/// a table by a float: 't'
const float t[] = {1.0f, 2.0f};
y[0] = mi_lookup_one(t, x[0]);

/// a table by lanes of floats: 't'
const float t[] = {1.0f, 2.0f};
mi_store(y, mi_lookup(t, (vi)(mi_load(x))));

/// a table by data that is none: no constant local table
float t[4] = {0};
y[0] = mi_lookup_one(t, (int32_t)x[0] & 3);

/// a call without all its arguments: a call of 'mi_store_n' is not understood
mi_store_n(y, mi_load(x));

/// a bound that wraps: may overflow uint32_t
const uint32_t n = 3;
for (uint32_t i = 0; i < n - 5u; i++)
    y[i] = 0.0f;

/// a bound that wraps later: may overflow size_t
for (size_t i = 0; i - 3 < 5; i++)
    y[i] = 0.0f;
