/* The rows of a dictionary family by identifier. Rows may come twice (the footer repeats them); the
 * last one counts. */
#ifndef WALLSHIM_MODEL_ROWS_H
#define WALLSHIM_MODEL_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "record/record.h"

struct ws_rows {
    enum ws_family family;
    struct ws_vector rows; /* structures of the family, in order of first appearance */
    struct ws_map index;   /* identifier → index + 1 */
};

/* Families whose first column is `id`. */
void ws_rows_init(struct ws_rows *dictionary, enum ws_family family);

/* Texts are copied into the arena, terminated. Rows with identifier 0 are left out. Returns 0 or -ENOMEM. */
int ws_rows_put(struct ws_rows *dictionary, struct ws_arena *texts, const void *row);

/* NULL when there is none. Valid until the next put. */
const void *ws_rows_find(const struct ws_rows *dictionary, uint32_t id);

/* Its place in rows, or UINT32_MAX. */
uint32_t ws_rows_place(const struct ws_rows *dictionary, uint32_t id);

void ws_rows_finish(struct ws_rows *dictionary);

#endif
