/* What a path names in a JSON report.
 *
 * A path begins at whatever knows its first key: each device of each process, else each process, else the
 * job. In a list, ["TEXT"] stands for the rows of class TEXT or whose name holds TEXT, and takes them
 * together: counts, bytes and times add up, min_ns and max_ns are the least and the most of them, mean_ns is
 * time by count, share their part of the list's total_ns. Of any other key, as with [*], each row's own value
 * is meant. */
#ifndef WALLSHIM_CHECK_FIND_H
#define WALLSHIM_CHECK_FIND_H

#include <jansson.h>

#include "base/vector.h"
#include "check/rule.h"

enum ws_subject_scope { WS_SUBJECT_DEVICE, WS_SUBJECT_PROCESS, WS_SUBJECT_JOB };

struct ws_found {
    enum ws_unit unit;
    double number;
    const char *text; /* WS_UNIT_TEXT; NULL where the report says null: not known. Lives as long as the report */
    const char *row;  /* what the row is called, where a path names several; else NULL */
};

/* Whose key it is. Returns 0, or -ENOENT when nobody knows it. */
int ws_find_scope(const json_t *report, const char *key, enum ws_subject_scope *scope);

/* Adds a struct ws_found for each value that the path names in the subject; [*] of an empty list names none. Returns
 * 0; -ENOENT where a key or row is not there and -EINVAL where the path does not fit what is there, with one line in
 * message; -ENOMEM. */
int ws_find(const struct ws_path *path, const json_t *subject, struct ws_vector *found, char *message,
            size_t capacity);

/* The word that reports use now in place of one that earlier ones used: "wait" for "dependency"; else the same. */
const char *ws_word_now(const char *word);

/* Of the keys of the object, or NULL: the one most like a key that is not there. */
const char *ws_nearest_key(const json_t *object, const char *key);

/* How many letters must be put in, taken out or replaced to make one of the other; 100 for long names. */
size_t ws_edit_distance(const char *a, const char *b);

/* Is this near enough to be what was meant? */
static inline bool ws_is_near(size_t distance, size_t length)
{
    return distance <= 1 + length / 3;
}

#endif
