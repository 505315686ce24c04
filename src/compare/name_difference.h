/* Shows the part that differs between two similar names. */
#ifndef WALLSHIM_COMPARE_NAME_DIFFERENCE_H
#define WALLSHIM_COMPARE_NAME_DIFFERENCE_H

#include "compare/compare.h"

/* Writes the title of the kernel `name`, a short form of its name. If the kernel `other` has the same title, also
 * writes the part of `name` that differs from `other`: "add (vectorized_elementwise) …add<float>…". Returns text. */
const char *ws_name_difference(char *text, size_t capacity, const char *name, const char *other);

/* Sets ws_change.like in each change whose kernel has the same title (short name) as another kernel. Returns 0 or
 * -ENOMEM. */
int ws_changes_find_alike(struct ws_change *changes, size_t count);

#endif
