/* A stand-in for a generated engine.h: small numbers, none a multiple of another. */
#ifndef MI_ENGINE_H
#define MI_ENGINE_H

#include <stdint.h>

#define MI_NAME "tiny"
#define MI_BUILD_ID "b0"
#define MI_WEIGHTS_ID "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#ifndef MI_VOCAB
#define MI_VOCAB 277
#endif
#ifndef MI_CONTEXT
#define MI_CONTEXT 61
#endif
#define MI_CHUNK 7
#define MI_SEQS 1
#define MI_MAX_THREADS 7
#ifndef MI_WEIGHTS_BYTES
#define MI_WEIGHTS_BYTES 1200
#endif
#define MI_STATE_BYTES (MI_CONTEXT * 16)
#define MI_ARENA_BYTES (64 + MI_VOCAB * 4)
#define MI_LOGITS_OFFSET 64
#define MI_EOS_IDS {2, 0}
#define MI_EOS_COUNT 2
#ifndef MI_CPU_FEATURES_CHECK
#define MI_CPU_FEATURES_CHECK (__builtin_cpu_supports("sse2"))
#endif
#define MI_CPU_FEATURES "sse2"

struct mi_batch {
    int32_t tokens, seqs;
    const int32_t *ids, *pos, *row, *q_start, *kv_len, *slot;
};

struct mi_pool;

struct mi_model {
    const uint8_t *weights;
    uint8_t *state;
    uint8_t *arena;
    struct mi_pool *pool;
};

void mi_forward(const struct mi_model *model, const struct mi_batch *batch, int part, int parts);
void mi_barrier(struct mi_pool *pool);

#endif
