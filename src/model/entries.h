/* The rows of a dictionary family (kernel names, streams …) by identifier. A file may hold several rows with the same
 * identifier. The last of these rows counts. Importers write a row again when they learn more, such as a thread's
 * name. */
#ifndef WALLSHIM_MODEL_ENTRIES_H
#define WALLSHIM_MODEL_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "record/record.h"

struct ws_entries {
    enum ws_family family;
    struct ws_vector rows; /* structures of the family, in order of first appearance */
    struct ws_map index;   /* identifier of a row → 1 + index of the row in `rows` */
};

/* The first column of the family must be `id`. */
void ws_entries_init(struct ws_entries *dictionary, enum ws_family family);

/* Adds a row; its texts are copied into the arena and zero-terminated. Ignores rows with identifier 0. Returns 0 or
 * -ENOMEM. */
int ws_entries_put(struct ws_entries *dictionary, struct ws_arena *texts, const void *row);

/* Returns the row with this identifier, or NULL. The pointer is valid until the next ws_entries_put. */
const void *ws_entries_find(const struct ws_entries *dictionary, uint32_t id);

/* Returns the index of the row in `rows`, or UINT32_MAX. */
uint32_t ws_entries_place(const struct ws_entries *dictionary, uint32_t id);

void ws_entries_finish(struct ws_entries *dictionary);

#endif
