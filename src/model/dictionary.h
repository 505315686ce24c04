/* The rows of a dictionary family by identifier. Rows may come twice (the footer repeats them); the
 * last one counts. */
#ifndef WALLSHIM_MODEL_DICTIONARY_H
#define WALLSHIM_MODEL_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "record/record.h"

struct ws_dictionary {
    enum ws_family family;
    struct ws_vector rows; /* structures of the family, in order of first appearance */
    struct ws_map index;   /* identifier → index + 1 */
};

/* Families whose first column is `id`. */
void ws_dictionary_init(struct ws_dictionary *dictionary, enum ws_family family);

/* Texts are copied into the arena, terminated. Rows with identifier 0 are left out. Returns 0 or -ENOMEM. */
int ws_dictionary_put(struct ws_dictionary *dictionary, struct ws_arena *texts, const void *row);

/* NULL when there is none. Valid until the next put. */
const void *ws_dictionary_find(const struct ws_dictionary *dictionary, uint32_t id);

/* Its place in rows, or UINT32_MAX. */
uint32_t ws_dictionary_place(const struct ws_dictionary *dictionary, uint32_t id);

void ws_dictionary_finish(struct ws_dictionary *dictionary);

#endif
