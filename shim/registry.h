/* Dictionaries under construction: append-only arrays of rows that many threads add to and the drain
 * thread copies out. An id is an index plus one. A row never changes once it is counted, so readers
 * need no lock. */
#ifndef WALLSHIM_SHIM_REGISTRY_H
#define WALLSHIM_SHIM_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"
#include "record/record.h"

/* R(family, most rows). Memory is reserved for all and touched as it fills. */
#define REGISTRY_TABLES(R) \
    R(device, 64)          \
    R(context, 256)        \
    R(stream, 16384)       \
    R(thread, 16384)       \
    R(function, 65536)     \
    R(shape, 262144)       \
    R(comm, 4096)          \
    R(label, 65536)        \
    R(graph_node, 262144)  \
    R(metric, 4096)        \
    R(counter, 4194304)

struct registry_table {
    char *rows;
    uint32_t row_size, limit;
    _Atomic uint32_t count;
    uint32_t emitted; /* the drain's */
};

struct registry {
#define TABLE(family, limit) struct registry_table family;
    REGISTRY_TABLES(TABLE)
#undef TABLE
    char *text; /* what the rows' texts point into */
    size_t text_used, text_size;
};

extern struct registry registry;

/* Returns 0 or -ENOMEM. */
int registry_init(void);

/* False: not had in time. Then nothing is known and nothing can be added. */
__attribute__((warn_unused_result)) static inline bool registry_lock(void)
{
    return lock_take(LOCK_REGISTRY);
}

static inline void registry_unlock(void)
{
    lock_release(LOCK_REGISTRY);
}

/* With the lock held: appends a copy of the row and returns its id, or 0 when the table is full. The
 * id is also put into the row's first column where that is 0. */
uint32_t registry_add(struct registry_table *table, const void *row);

/* With the lock held: a lasting copy of the text (cut at 16 KiB, with a zero behind it; empty
 * when the arena is full). */
struct ws_text registry_text(const char *text);

static inline void *registry_row(const struct registry_table *table, uint32_t id)
{
    return table->rows + (size_t)(id - 1) * table->row_size;
}

#endif
