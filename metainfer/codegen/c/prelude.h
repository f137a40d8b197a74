#ifndef MI_LANES_H
#define MI_LANES_H

/* Vectors of MI_V floats: 16 lanes (output rows, columns or positions) are MI_N of them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MI_LANES 16
#if defined(__AVX512F__)
#define MI_V 16
#elif defined(__AVX__)
#define MI_V 8
#else
#define MI_V 4
#endif
#define MI_N (MI_LANES / MI_V)
#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef float vf __attribute__((vector_size(4 * MI_V)));
typedef int32_t vi __attribute__((vector_size(4 * MI_V)));

static inline vf mi_set(float x) { return (vf){0} + x; }

static inline vf mi_load(const float *p)
{
    vf r;
    memcpy(&r, p, sizeof r);
    return r;
}

static inline void mi_store(float *p, vf x) { memcpy(p, &x, sizeof x); }

/* The first n <= MI_V floats; the other lanes are zero. */
static inline vf mi_load_n(const float *p, int32_t n)
{
    vf r = {0};
    memcpy(&r, p, (size_t)n * sizeof(float));
    return r;
}

static inline void mi_store_n(float *p, vf x, int32_t n)
{
    memcpy(p, &x, (size_t)n * sizeof(float));
}

static inline vf mi_load_f32(const float *p) { return mi_load(p); }

/* a * b + c with one rounding */
static inline vf mi_fma(vf a, vf b, vf c)
{
#if defined(__AVX512F__)
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__) && defined(__AVX2__)
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    vf r;
    for (int i = 0; i < MI_V; i++)
        r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
#endif
}

static inline vi mi_load_u8(const uint8_t *p)
{
#if defined(__AVX512F__)
    return (vi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
#elif defined(__AVX2__)
    return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
#else
    vi r;
    for (int i = 0; i < MI_V; i++)
        r[i] = p[i];
    return r;
#endif
}

static inline vf mi_load_f16(const _Float16 *p)
{
#if defined(__AVX512F__)
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
#elif defined(__F16C__) && defined(__AVX2__)
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
#else
    vf r;
    for (int i = 0; i < MI_V; i++)
        r[i] = (float)p[i];
    return r;
#endif
}

/* bf16 is the upper half of a float. */
static inline float mi_bf16(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float r;
    memcpy(&r, &bits, sizeof r);
    return r;
}

static inline vf mi_load_bf16(const uint16_t *p)
{
    vf r;
    for (int i = 0; i < MI_V; i++)
        r[i] = mi_bf16(p[i]);
    return r;
}

static inline float mi_lookup_one(const float *table, int32_t i) { return table[i]; }

static inline vf mi_lookup(const float *table, vi index)
{
    vf r;
    for (int i = 0; i < MI_V; i++)
        r[i] = table[index[i]];
    return r;
}

static inline vf mi_to_f32(vi x) { return __builtin_convertvector(x, vf); }

static inline vf mi_select(vi mask, vf yes, vf no)
{
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

static inline vf mi_max(vf a, vf b) { return mi_select(a > b, a, b); }

/* All-ones in lanes below n, where lane 0 of this vector counts as `first`. */
static inline vi mi_below(int32_t n, int32_t first)
{
    vi lane;
    for (int i = 0; i < MI_V; i++)
        lane[i] = first + i;
    return lane < n;
}

/* e^x to about 1 ulp: x = n ln 2 + r, |r| <= ln 2 / 2, a polynomial in r, then two exact scalings
 * so that neither 2^n overflows nor a subnormal result is lost. NaN stays NaN. */
static inline vf mi_exp(vf x)
{
    x = mi_select(x > 89.0f, mi_set(89.0f), x);
    x = mi_select(x < -110.0f, mi_set(-110.0f), x);
    const vf magic = mi_set(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    vf n = mi_fma(x, mi_set(1.44269504f), magic) - magic;
    vf r = mi_fma(n, mi_set(-0.693359375f), x);
    r = mi_fma(n, mi_set(2.12194440e-4f), r);
    vf p = mi_set(1.9875691500e-4f);
    p = mi_fma(p, r, mi_set(1.3981999507e-3f));
    p = mi_fma(p, r, mi_set(8.3334519073e-3f));
    p = mi_fma(p, r, mi_set(4.1665795894e-2f));
    p = mi_fma(p, r, mi_set(1.6666665459e-1f));
    p = mi_fma(p, r, mi_set(5.0000001201e-1f));
    p = mi_fma(p, r * r, r) + 1.0f;
    vi whole = __builtin_convertvector(mi_select(x == x, n, (vf){0}), vi);
    vi half = whole >> 1;
    vf low = (vf)((half + 127) << 23), high = (vf)((whole - half + 127) << 23);
    return p * low * high;
}

/* Sum of the 16 lanes in a fixed order: halves of MI_LANES, then of the rest. */
static inline float mi_sum(const vf x[MI_N])
{
    float lane[MI_LANES];
    memcpy(lane, x, sizeof lane);
    for (int width = MI_LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            lane[i] += lane[i + width];
    return lane[0];
}

/* Largest of the 16 lanes. */
static inline float mi_top(const vf x[MI_N])
{
    float lane[MI_LANES];
    memcpy(lane, x, sizeof lane);
    for (int i = 1; i < MI_LANES; i++)
        lane[0] = lane[i] > lane[0] ? lane[i] : lane[0];
    return lane[0];
}

#endif
