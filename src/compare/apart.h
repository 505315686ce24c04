/* Names that are alike, told apart by what differs in them. */
#ifndef WALLSHIM_COMPARE_APART_H
#define WALLSHIM_COMPARE_APART_H

#include "compare/compare.h"

/* "add (vectorized_elementwise) …add<float>…": a kernel's title, with what of its name is not in the other's where
 * that has the same title. Returns text. */
const char *ws_name_apart(char *text, size_t capacity, const char *name, const char *other);

/* Fills in ws_change.like for changes of kernels. Returns 0 or -ENOMEM. */
int ws_changes_find_alike(struct ws_change *changes, size_t count);

#endif
