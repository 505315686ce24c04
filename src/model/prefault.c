#include "model/prefault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/pages.h"

enum { ROWS_LEAST = 1 << 20, ROWS_AT_ONCE = 1 << 18 };

struct ws_prefault {
    pthread_t thread;
    atomic_bool stop;
    struct ws_prefault_array arrays[WS_PREFAULT_ARRAYS];
    size_t count, from, to;
};

static void *prefault_rows(void *user)
{
    struct ws_prefault *ahead = user;
    for (size_t row = ahead->from; row < ahead->to; row += ROWS_AT_ONCE) {
        size_t end = row + ROWS_AT_ONCE < ahead->to ? row + ROWS_AT_ONCE : ahead->to;
        for (size_t i = 0; i < ahead->count; i++) {
            const struct ws_prefault_array *array = &ahead->arrays[i];
            if (atomic_load(&ahead->stop) || ws_pages_touch(array->data, row * array->size, end * array->size))
                return NULL;
        }
    }
    return NULL;
}

struct ws_prefault *ws_prefault_start(const struct ws_prefault_array *arrays, size_t count, size_t from, size_t to)
{
    if (to < from + ROWS_LEAST || count > WS_PREFAULT_ARRAYS)
        return NULL;
    struct ws_prefault *ahead = calloc(1, sizeof(*ahead));
    if (!ahead)
        return NULL;
    memcpy(ahead->arrays, arrays, count * sizeof(*arrays));
    ahead->count = count;
    ahead->from = from;
    ahead->to = to;
    if (pthread_create(&ahead->thread, NULL, prefault_rows, ahead)) {
        free(ahead);
        return NULL;
    }
    return ahead;
}

void ws_prefault_stop(struct ws_prefault *ahead)
{
    if (!ahead)
        return;
    atomic_store(&ahead->stop, true);
    pthread_join(ahead->thread, NULL);
    free(ahead);
}
