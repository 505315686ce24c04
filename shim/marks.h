/* Marks: the CUDA events that time operations, pooled per context.
 *
 * A mark is named by its index plus one in its context's pool. The application's threads take marks
 * from a lock-free stack and record them; the drain thread reads their times and puts them back. A
 * mark is used twice where it ends one operation and begins the next, so it counts its users. */
#ifndef WALLSHIM_SHIM_MARKS_H
#define WALLSHIM_SHIM_MARKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/cuda.h"

enum mark_state { MARK_UNREAD, MARK_READ, MARK_FAILED };

struct mark {
    ws_CUevent event;
    int64_t time;   /* context's clock, ns; once read */
    uint32_t error; /* of time, from the arithmetic alone, ns */
    uint8_t state;  /* enum mark_state; the drain's */
    _Atomic uint8_t users;
    _Atomic uint32_t next; /* in the stack of free marks */
};

struct mark_pool {
    struct mark *marks;
    uint32_t limit;            /* events this context may hold */
    uint32_t made;             /* events it does hold; grown by one thread at a time */
    _Atomic uint64_t free_top; /* change count << 32 | mark */
    _Atomic uint32_t free_count;
    _Atomic uint32_t few; /* free ones, below which the drain is to make or bring back more */
};

/* Reserves room for `limit` marks and makes none. Returns 0 or -ENOMEM. */
int mark_pool_init(struct mark_pool *pool, uint32_t limit);

/* Makes up to count more events in the current context. Returns what the driver says when it refuses one. */
ws_CUresult mark_pool_grow(struct mark_pool *pool, uint32_t count);

/* Makes as many more as there are where fewer than half of them are free: who uses up what there is will use up as
 * many again. Up to `early` it makes more without need. The context is to be current where mark_pool_is_to_grow says
 * so. */
bool mark_pool_is_to_grow(const struct mark_pool *pool, uint32_t early);
void mark_pool_keep(struct mark_pool *pool, uint32_t early);

/* A free mark with so many users, or 0: the pool is dry. It is in *kept as soon as it is taken, for a signal handler
 * may jump at any time. */
uint32_t mark_take(struct mark_pool *pool, uint8_t users, uint32_t *kept);

/* One user less; the last one puts it back. 0 is no mark and is ignored. */
void mark_release(struct mark_pool *pool, uint32_t mark);

static inline struct mark *mark_at(const struct mark_pool *pool, uint32_t mark)
{
    return &pool->marks[mark - 1];
}

#endif
