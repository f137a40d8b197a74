/* Drives the runtime from C, for builds under sanitizers: generations on 1 to 7 threads, some
 * cancelled from a second thread, and steps in between. Exits 1 when two runs differ. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runtime.h"

struct mi_engine *mi_open(const char *path, int threads, char *message, size_t size);
int mi_step(struct mi_engine *engine, const int32_t *ids, int32_t n, int32_t pos, float *logits);
int mi_start(struct mi_engine *engine, const int32_t *ids, int32_t n, int32_t limit, int ignore_end,
             const struct mi_sampling *sampling);
int mi_next(struct mi_engine *engine, int32_t *token);
void mi_cancel(struct mi_engine *engine);
void mi_finish(struct mi_engine *engine);
void mi_close(struct mi_engine *engine);

enum { PROMPT = 9, TOKENS = 50 };
static const struct mi_sampling how = {.temperature = 0.8f, .top_k = 60, .top_p = 0.9, .key = 7};

static void *cancel(void *engine)
{
    mi_cancel(engine);
    return NULL;
}

/* Takes up to TOKENS tokens; from another thread cancels after `stop_after`, if not 0. */
static int generate(struct mi_engine *engine, int32_t *made, int stop_after)
{
    const int32_t prompt[PROMPT] = {40, 41, 99, 200, 17, 8, 8, 250, 33};
    pthread_t canceller;
    int n = 0;
    if (mi_start(engine, prompt, PROMPT, TOKENS, 1, &how) < 0)
        return -1;
    while (mi_next(engine, &made[n]) == 1) {
        if (++n == stop_after)
            pthread_create(&canceller, NULL, cancel, engine);
    }
    if (stop_after)
        pthread_join(canceller, NULL);
    mi_finish(engine);
    return n;
}

int main(int count, char **arguments)
{
    int32_t first[TOKENS + 1], made[TOKENS + 1];
    char message[4096];
    float logits[MI_VOCAB];
    for (int threads = 1; count == 2 && threads <= MI_MAX_THREADS; threads++) {
        struct mi_engine *engine = mi_open(arguments[1], threads, message, sizeof message);
        if (!engine || generate(engine, threads == 1 ? first : made, 0) != TOKENS)
            return 2;
        if (threads > 1 && memcmp(first, made, TOKENS * sizeof *made) != 0)
            return 1;
        for (int stop_after = 1; stop_after < 9; stop_after += 3) {
            if (generate(engine, made, stop_after) < stop_after)
                return 3;
            if (mi_step(engine, first, 5, 3, logits) != 0)
                return 4;
        }
        mi_close(engine);
    }
    puts("done");
    return 0;
}
