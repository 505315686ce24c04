/* The tables of one trace that the live figures need to understand its operations: devices, contexts, streams,
 * functions, driver functions and shapes. Ids come from clients, so rows with ids beyond the tables' limits are left
 * out. The tables grow within the memory budget of all live figures. */
#ifndef WALLSHIM_COLLECTOR_FIGURES_TABLES_H
#define WALLSHIM_COLLECTOR_FIGURES_TABLES_H

#include "collector/figures.h"
#include "collector/figures_clock.h"

enum { FIGURES_CONTEXTS_MAX = 256, FIGURES_ORDINALS_MAX = 64 };

/* A shape is what many operations have in common (FORMAT.md): kind, stream, function, grid. */
struct figures_shape {
    struct figures_device *device; /* device on which its operations run; NULL: no row with this id has come */
    struct figures_clock *clock;
    uint32_t stream;
    uint8_t class, group, direction;
    bool timed; /* operations of this shape occupy the device, not only a stream */
};

/* A growing array of rows, indexed by id. */
struct figures_table {
    void *rows;
    uint32_t count;
};

struct figures_context {
    struct figures_device *device;
    struct figures_clock clock;
};

struct figures_tables {
    struct figures_table shapes;    /* rows of struct figures_shape */
    struct figures_table streams;   /* rows of uint16_t: id of the stream's context */
    struct figures_table functions; /* rows of uint8_t: 1 if the kernel is one of NCCL */
    struct figures_table calls;     /* rows of uint8_t, one for each driver function: its enum ws_call_family */
    struct figures_device *devices[FIGURES_ORDINALS_MAX];
    struct figures_context contexts[FIGURES_CONTEXTS_MAX];
};

/* Does figures_tables_add store anything from rows of this family (kind of record)? */
bool figures_tables_want(uint32_t family);

/* Returns the number of rows that were refused, because of their ids or for lack of memory. */
uint32_t figures_tables_add(struct figures_tables *tables, struct figures_process *process, uint32_t family,
                            const void *rows, uint32_t count);

void figures_tables_finish(struct figures_tables *tables, struct figures_memory *memory);

/* Returns NULL if there is no such shape. */
static inline const struct figures_shape *figures_tables_shape(const struct figures_tables *tables, uint32_t id)
{
    const struct figures_shape *shapes = tables->shapes.rows;
    return id < tables->shapes.count && shapes[id].device ? &shapes[id] : NULL;
}

static inline uint32_t figures_tables_call_family(const struct figures_tables *tables, uint32_t function)
{
    return function < tables->calls.count ? ((const uint8_t *)tables->calls.rows)[function] : (uint32_t)WS_CALL_OTHER;
}

#endif
