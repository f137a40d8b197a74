"""Bodies that are wrong: each is found, where it is wrong and for that reason."""

from __future__ import annotations

import pytest

from metainfer.verify.mutation.subjects import Subject

ROWS = "for (int32_t t = 0; t < tokens; t++)"
SHARE = "for (int32_t u = 19 * part / parts; u < 19 * (part + 1) / parts; u++)"

SPOILED = {
    "one row more": ("silu", "t < tokens", "t <= tokens", "behind"),
    "last part too long": (
        "silu",
        "19 * (part + 1) / parts",
        "19 * (part + 1) / parts + 1",
        "behind",
    ),
    "part for part + 1 of one more": ("silu", "19 * (part + 1)", "20 * (part + 1)", "behind"),
    "starts before the row": ("silu", "c = u * 16", "c = u * 16 - 1", "before"),
    "a vector behind its unit": (
        "silu",
        "at = (size_t)t * 304 + c",
        "at = (size_t)t * 304 + c + 1",
        "behind",
    ),
    "rows of another width": ("silu", "(size_t)t * 304", "(size_t)t * 320", "behind"),
    "a whole vector at a tail": (
        "linear_q4_1",
        "mi_store_n(y + (size_t)(t + 3) * 40 + r, a3[n], rest)",
        "mi_store(y + (size_t)(t + 3) * 40 + r, a3[n])",
        "behind",
    ),
    "no guard of the tail": ("linear_q4_1", " && r < 40", "", "lanes"),
    "a rest that is no minimum": (
        "linear_q4_1",
        "40 - r < MI_V ? 40 - r : MI_V",
        "40 - r",
        "lanes",
    ),
    "a tile that may not fit": ("linear_q4_1", "t + 4 <= tokens", "t + 3 <= tokens", "behind"),
    "a tile one row too far": (
        "linear_q4_1",
        "(size_t)(t + 3) * 64",
        "(size_t)(t + 4) * 64",
        "behind",
    ),
    "the next block's bytes": (
        "linear_q4_1",
        "* 2 + b) * 16 * MI_LANES",
        "* 2 + b + 1) * 16 * MI_LANES",
        "'weight_qs'",
    ),
    "another field's stride": (
        "linear_q4_1",
        "weight_m + ((size_t)g * 2 + b) * MI_LANES",
        "weight_m + ((size_t)g * 2 + b) * 16 * MI_LANES",
        "'weight_m'",
    ),
    "one column of x more": ("linear_q4_1", "x3[b * 32 + 16 + j]", "x3[b * 32 + 17 + j]", "'x'"),
    "one lane behind": (
        "linear_q4_1",
        "mi_load_u8(qsb + j * MI_LANES + n * MI_V)",
        "mi_load_u8(qsb + j * MI_LANES + n * MI_V + 1)",
        "'weight_qs'",
    ),
    "one group more": (
        "linear_q4_1",
        "g = 3 * part / parts; g < 3 * (part + 1)",
        "g = 4 * part / parts; g < 4 * (part + 1)",
        "behind",
    ),
    "weights for rows that have none": (
        "rms_norm",
        "y[at + c] = xr[c] * scale * weight[c]",
        "y[at + c] = xr[c] * scale * weight[at + c]",
        "'weight'",
    ),
    "a local array too short": ("attend_window", "float score[48]", "float score[47]", "'score'"),
    "a window one wider": (
        "attend_window",
        "visible > 24 ? visible - 24",
        "visible > 33 ? visible - 33",
        "'score'",
    ),
    "scores at absolute positions": (
        "attend_window",
        "mi_store(score + j - first",
        "mi_store(score + j",
        "'score'",
    ),
    "a ring without its modulo": ("attend_window", "(j % 48)", "(j)", "'state_k'"),
    "a ring that is too long": ("attend_window", "(j % 48)", "(j % 64)", "'state_k'"),
    "another head's slab": (
        "attend_window",
        "(size_t)(h / 3) * 384",
        "(size_t)(h / 2) * 384",
        "'state_k'",
    ),
    "a window that begins too soon": (
        "attend_window",
        "visible - 24 : 0",
        "visible - 24 : -1",
        "before",
    ),
    "one position too many": ("attend", "j < visible; j++", "j <= visible; j++", "behind"),
    "a slot without its modulo": (
        "append_ring",
        "batch->slot[t] % 48",
        "batch->slot[t]",
        "'state_k'",
    ),
    "slots for positions": (
        "append_ring",
        "* 48 + slot) * 8",
        "* 48 + batch->pos[t]) * 8",
        "'state_v'",
    ),
    "keys in a slab of values": (
        "append",
        "state_k[key * 16",
        "state_v[(key + 8) * 16",
        "'state_v'",
    ),
    "an id as a group": (
        "embed",
        "(size_t)(id / MI_LANES) * 2 + b) * 32",
        "(size_t)id * 2 + b) * 32",
        "'weight_qs'",
    ),
    "a lane as an id": ("embed", "lane = id % MI_LANES", "lane = id % 17", "'weight_"),
    "the end of the last sequence": (
        "select_last",
        "batch->q_start[s + 1] - 1",
        "batch->q_start[s + 1]",
        "'x'",
    ),
    "a sequence too many": (
        "select_last",
        "batch->q_start[s + 1] - 1",
        "batch->q_start[s + 2] - 1",
        "'batch->q_start'",
    ),
    "before the first sequence": (
        "select_last",
        "batch->q_start[s + 1] - 1",
        "batch->q_start[s] - 1",
        "'x'",
    ),
    "tokens for sequences": ("select_last", "s < seqs", "s < batch->tokens", "'batch->q_start'"),
    "one frequency more": (
        "rope_half",
        "i < 16; i++) {\n        const double",
        "i < 17; i++) {\n        const double",
        "'frequency'",
    ),
    "the other half of no head": ("rope_half", "xh[i + 16]", "xh[i + 17]", "'x'"),
    "writes an input": ("add", "mi_store(y + at", "mi_store(a + at", "only to be read"),
}
"""Name: subject, a fragment of its body, what replaces it, and what the reason says."""


@pytest.mark.parametrize("fault", SPOILED)
def test_a_spoiled_body(fault: str, known: dict[str, Subject], check) -> None:  # type: ignore[no-untyped-def]
    name, old, new, why = SPOILED[fault]
    body = "\n".join(known[name].body)
    assert old in body
    spoiled = body.replace(old, new)
    found = check(name, spoiled)
    assert any(why in f.why for f in found), [str(f) for f in found]
    changed = [
        n
        for n, (a, b) in enumerate(zip(body.split("\n"), spoiled.split("\n"), strict=True), 1)
        if a != b
    ]
    assert found[0].line >= changed[0]


WRITTEN = {
    "an index from data": ("y[(int32_t)x[0]] = 0.0f;", "an index depends on data"),
    "a bound from data": (
        "for (int32_t i = 0; i < (int32_t)x[0]; i++)\n    y[i] = 0.0f;",
        "depends on data",
    ),
    "a branch on data": ("if (x[0] > 0.0f)\n    y[0] = x[0];", "a branch depends on data"),
    "data through a variable": (
        "int32_t i = 0;\ni = (int32_t)x[0];\ny[i] = 0.0f;",
        "depends on data",
    ),
    "data through a choice": (
        "const int32_t i = x[0] > 0.0f ? 1 : 0;\ny[i] = 0.0f;",
        "depends on data",
    ),
    "data through an array": (
        "int32_t p[4] = {0};\nfor (int32_t i = 0; i < 4; i++) {\n    y[p[i]] = 0.0f;\n    p[3 - i] = (int32_t)x[i];\n}",
        "depends on data",
    ),
    "data through a copy": (
        "int32_t bits = 0;\nmemcpy(&bits, x, 4);\ny[bits] = 0.0f;",
        "depends on data",
    ),
    "data in a loop before": (
        "int32_t i = 0;\nfor (int32_t t = 0; t < 3; t++) {\n    y[i] = 0.0f;\n    i = (int32_t)x[t];\n}",
        "depends on data",
    ),
    "data as a count of lanes": ("mi_store_n(y, mi_load(x), (int32_t)x[0]);", "depends on data"),
    "data as a length": ("memcpy(y, x, (size_t)x[0]);", "depends on data"),
    "a number that no int32_t holds": (
        "const int32_t n = tokens * 200000000;\ny[n * 0] = 0.0f;",
        "may overflow int32_t",
    ),
    "a product that overflows in one part": (
        "const int32_t n = 304 * 2000000 * part / parts;\ny[n * 0] = 0.0f;",
        "may overflow int32_t",
    ),
    "a counter that overflows": ("for (int32_t i = 1; i > 0; i += 3)\n    y[0] = 0.0f;", ""),
    "an unsigned number below zero": (
        "for (size_t i = 5; i >= 0; i--)\n    y[i] = 0.0f;",
        "size_t",
    ),
    "an unsigned index below zero": ("const size_t i = (size_t)part - 1;\ny[i] = 0.0f;", "behind"),
    "a narrow number that wraps": (
        "const uint8_t i = 255 + part;\ny[304 + i] = y[i - 1];",
        "before",
    ),
    "a loop without an end": (
        "while (part >= 0)\n    y[0] = 0.0f;",
        "nothing is known to end this loop",
    ),
    "a loop without a condition": (
        "for (;;)\n    y[0] = 0.0f;",
        "nothing is known to end this loop",
    ),
    "a loop whose end moves": (
        "int32_t n = 4;\nfor (int32_t i = 0; i < n; i++) {\n    y[i] = 0.0f;\n    n++;\n}",
        "",
    ),
    "a step that is left out": (
        "int32_t i = 0;\nfor (int32_t t = 0; t < 300; t++) {\n    if (t < 5)\n        continue;\n    y[i - 5] = 0.0f;\n    i++;\n}",
        "before",
    ),
    "a bound that held before": (
        "int32_t n = 3;\nif (n < 5) {\n    n = 400;\n} else {\n    return;\n}\ny[n] = 0.0f;",
        "behind",
    ),
    "a condition that a turn forgets": (
        "for (int32_t i = 0; i < 1000; i++) {\n    if (i < 304)\n        continue;\n    y[i] = 0.0f;\n}",
        "behind",
    ),
    "the row of an array of rows": (
        "float a[3][8];\nfor (int32_t i = 0; i < 9; i++)\n    a[1][i] = x[i];",
        "leaves a row of 8",
    ),
    "a pointer into one of two": (
        "const float *p = x;\nif (part > 0)\n    p = y;\ny[0] = p[0];",
        "where this points is not known",
    ),
    "a pointer that walks out": (
        "float *p = y;\nfor (int32_t t = 0; t < tokens; t++) {\n    p[0] = 0.0f;\n    p += 305;\n}",
        "behind",
    ),
    "a pointer that was never set": ("const float *p;\ny[0] = p[0];", "has no value yet"),
    "a division by zero": ("y[4 / part] = 0.0f;", "divisor may be 0"),
    "a shift too far": ("y[1 << (part + 1)] = 0.0f;", "shifts by"),
    "a number as a pointer": ("y[0] = *(const float *)tokens;", "where this points is not known"),
    "another type's elements": ("y[0] = (float)*(const double *)x;", "reads x as double"),
    "a lane of no vector": ("const vf v = mi_load(x);\ny[0] = v[MI_V];", "none of the"),
    "a call of something": ("memset(y, 0, 4);", "a call of 'memset' is not understood"),
    "a name of something": ("y[0] = stdin;", "the name 'stdin' is not understood"),
    "a label": ("again:\n    y[0] = 0.0f;\n    goto again;", "not understood"),
    "a side effect in an index": ("int32_t i = 0;\ny[i++] = 0.0f;", "not understood"),
    "no C": ("y[0] = = 1;", "not understood"),
    "a table by data that is too short": (
        "const float t[] = {1.0f, 2.0f};\nconst int32_t i = ((int32_t)x[0] & 2);\ny[0] = t[i];",
        "'t'",
    ),
    "a table by data that is none": (
        "float t[4] = {0};\ny[0] = mi_lookup_one(t, (int32_t)x[0] & 3);",
        "no constant local table",
    ),
}
"""Name: a body for `scale`, with x and y of (tokens, 304), and what the reason says."""


@pytest.mark.parametrize("fault", WRITTEN)
def test_a_wrong_body(fault: str, check) -> None:  # type: ignore[no-untyped-def]
    body, why = WRITTEN[fault]
    found = check("scale", body)
    assert found
    assert any(why in f.why for f in found), [str(f) for f in found]


ALLOWED = {
    "a choice by data": "y[0] = x[0] > 0.0f ? x[1] : 0.0f;",
    "a table by data": "const float t[] = {1.0f, 2.0f, 3.0f, 4.0f};\ny[0] = mi_lookup_one(t, (int32_t)x[0] & 3);",
    "a table by lanes": "const float t[16] = {0};\nmi_store(y, mi_lookup(t, (vi)mi_load(x) & 15));",
    "a table of places": "const int32_t at[] = {3, 1, 303};\nfor (int32_t i = 0; i < 3; i++)\n    y[at[i]] = x[at[i]];",
    "units rounded up": "const int32_t each = (19 + parts - 1) / parts;\nint32_t end = (part + 1) * each;\nif (end > 19)\n    end = 19;\nfor (int32_t u = part * each; u < end; u++)\n    for (int32_t c = 0; c < 16; c++)\n        y[u * 16 + c] = x[u * 16 + c];",
    "a guard by return": "if (part != 0)\n    return;\nparts = 1;\nfor (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++)\n    y[t * 304] = x[t * 304];",
    "a pointer that walks": "float *p = y;\nfor (int32_t t = 0; t < tokens; t++) {\n    p[303] = 0.0f;\n    p += 304;\n}",
    "a step in the middle": "int32_t i = 0;\nfor (int32_t t = 0; t < tokens; t++) {\n    y[i] = 0.0f;\n    i += 304;\n}",
    "a search that breaks off": "int32_t i = 0;\nfor (; i < 304; i++)\n    if (i * i > 100 * part)\n        break;\nif (i < 304)\n    y[i] = 0.0f;",
    "unused parameters": "(void)x;\n(void)part;\n/* nothing */",
    "tail by tail": "for (int32_t c = 0; c < 304; c += 10)\n    for (int32_t i = c; i < c + 10 && i < 304; i++)\n        y[i] = x[i];",
}
"""Name: a body for `scale` in which nothing is wrong."""


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_proven(name: str, check) -> None:  # type: ignore[no-untyped-def]
    assert check("scale", ALLOWED[name]) == []


def test_the_place_of_a_finding(check) -> None:  # type: ignore[no-untyped-def]
    (found,) = check("scale", "/* two\n   lines */\nfloat a[4];\n    a[4] = x[0];")
    assert (found.line, found.text) == (4, "a[4] = x[0]")
    assert str(found) == (
        "line 4: writes up to 4 bytes behind the 16 bytes of 'a' in `a[4] = x[0]`"
    )
