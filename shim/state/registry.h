/* Dictionaries under construction: append-only arrays of rows that many threads add to and the drain
 * thread copies out. An id is an index plus one. A row never changes once it is counted, so readers
 * need no lock. */
#ifndef WALLSHIM_SHIM_STATE_REGISTRY_H
#define WALLSHIM_SHIM_STATE_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/chunks.h"
#include "record/record.h"
#include "shim/state/lock.h"

/* R(family, most rows). Memory is mapped as it fills. */
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
    struct ws_chunks rows;
    uint32_t limit;
    _Atomic uint32_t count;
    _Atomic uint64_t refused; /* rows that found no room */
    uint32_t emitted;         /* the drain's */
};

struct registry {
#define TABLE(family, limit) struct registry_table family;
    REGISTRY_TABLES(TABLE)
#undef TABLE
    struct ws_pieces text; /* what the rows' texts point into */
    _Atomic uint64_t texts_refused;
};

extern struct registry registry;

/* Empties all tables; they have no memory then. */
void registry_init(void);

/* False: the lock was not free in time. Then nothing is known and nothing can be added. */
__attribute__((warn_unused_result)) static inline bool registry_lock(void)
{
    return lock_take(LOCK_REGISTRY);
}

static inline void registry_unlock(void)
{
    lock_release(LOCK_REGISTRY);
}

/* With the lock held: appends a copy of the row and returns its id, or 0 when the table is full or memory is out. The
 * id is also put into the row's first column where that is 0. */
uint32_t registry_add(struct registry_table *table, const void *row);

/* With the lock held: a lasting copy of the text (cut at 16 KiB, with a zero behind it; empty
 * when the arena is full). */
struct ws_text registry_text(const char *text);

static inline void *registry_row(const struct registry_table *table, uint32_t id)
{
    return ws_chunks_row(&table->rows, id - 1);
}

#endif
