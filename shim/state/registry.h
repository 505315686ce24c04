/* The trace's dictionaries (tables of devices, contexts, streams …), while they grow. Each dictionary is an
 * append-only array of rows: many threads add rows, and the drain thread copies them into the trace. A row's id is
 * its index plus one. A row never changes once `count` includes it, so readers need no lock. */
#ifndef WALLSHIM_SHIM_STATE_REGISTRY_H
#define WALLSHIM_SHIM_STATE_REGISTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/chunks.h"
#include "record/record.h"
#include "shim/state/lock.h"

/* Each dictionary: R(family, largest number of rows). Memory is mapped as a table fills. */
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
    R(counter, 4194304)    \
    R(code, 65536)         \
    R(frame, 262143)

struct registry_table {
    struct ws_chunks rows;
    uint32_t limit;
    uint32_t rows_family; /* enum ws_family */
    _Atomic uint32_t count;
    _Atomic uint64_t refused; /* number of rows that could not be added */
    uint32_t emitted;         /* number of rows that are already in the trace; used by the drain alone */
};

struct registry {
#define TABLE(family, limit) struct registry_table family;
    REGISTRY_TABLES(TABLE)
#undef TABLE
    struct ws_pieces text; /* the texts that the rows point to */
    _Atomic uint64_t texts_refused;
};

extern struct registry registry;

/* Makes all tables empty. Empty tables have no memory. */
void registry_init(void);

/* Takes the registry's lock. Returns false if the lock was not free within a deadline (lock.h): the caller must then
 * neither read nor change the tables. */
__attribute__((warn_unused_result)) static inline bool registry_lock(void)
{
    return lock_take(LOCK_REGISTRY);
}

static inline void registry_unlock(void)
{
    lock_release(LOCK_REGISTRY);
}

/* Called with the registry's lock held: appends a copy of the row to the table and returns its id; 0 if the table is
 * full or there is no memory. If the copy's first column is 0, the id is also stored in this column. */
uint32_t registry_add(struct registry_table *table, const void *row);

/* Called with the registry's lock held: returns a copy of the text. The copy is cut at 16 KiB, zero-terminated and
 * never freed. If there is no more room for texts, returns an empty text. */
struct ws_text registry_text(const char *text);

/* Like registry_text, for `size` bytes. The copy is not cut. */
struct ws_text registry_bytes(const void *bytes, size_t size);

static inline void *registry_row(const struct registry_table *table, uint32_t id)
{
    return ws_chunks_row(&table->rows, id - 1);
}

#endif
