/* A model with exact arithmetic: the state of a position is a hash of all ids up to it, and the
 * logits are a function of the last hash. Some first ids choose a special behaviour instead:
 *   3  the text repeats with the period given by the second id
 *   4  like 3, but each forward pass takes 30 ms
 *   5  the logits are the weights
 *   6  like 3, and a logit is NaN from position 20 on */
#include <math.h>
#include <time.h>

#include "engine.h"

struct cell {
    uint64_t hash;
    int32_t id, unused;
};

static uint64_t stir(uint64_t x)
{
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

/* A chain, so that skipped, repeated or misplaced positions change everything after them. */
static void remember(const struct mi_model *model, const struct mi_batch *batch, int32_t t)
{
    struct cell *state = (struct cell *)model->state;
    int32_t at = batch->slot[t];
    uint64_t before = at > 0 ? state[at - 1].hash : model->weights[1108];
    state[at].id = batch->ids[t];
    state[at].hash = stir(before + (uint64_t)batch->ids[t] * 1000003 + (uint64_t)batch->pos[t]);
}

static float logit(const struct mi_model *model, int32_t last, int32_t id)
{
    const struct cell *state = (const struct cell *)model->state;
    int32_t kind = state[0].id;
    if (kind == 5)
        return ((const float *)model->weights)[id];
    if (kind == 3 || kind == 4 || kind == 6) {
        if (kind == 6 && last >= 20 && id == 30)
            return NAN;
        int32_t from = last + 1 - state[1].id;
        return from >= 0 && id == state[from].id ? 9.0f : 0.0f;
    }
    return (float)(stir(state[last].hash + (uint64_t)id) >> 54) / 64.0f; /* 1,024 values: ties */
}

void mi_forward(const struct mi_model *model, const struct mi_batch *batch, int part, int parts)
{
    float *logits = (float *)(model->arena + MI_LOGITS_OFFSET);
    int32_t last = batch->kv_len[0] - 1;
    for (int32_t t = 0; t < batch->tokens; t++) { /* token t is the work of part t % parts */
        if (t % parts == part)
            remember(model, batch, t);
        mi_barrier(model->pool);
    }
    if (part == 0 && ((const struct cell *)model->state)[0].id == 4)
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    for (int32_t id = part; id < MI_VOCAB; id += parts)
        logits[id] = logit(model, last, id);
}
