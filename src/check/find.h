/* Finds the values that a path names in a JSON report.
 *
 * A path begins at the object that has its first key: each device of each process, else each process, else the job.
 * In a list, ["TEXT"] selects the rows of class TEXT, or those with TEXT in their names, and combines them: counts,
 * bytes and times are added up, min_ns and max_ns are minimum and maximum, mean_ns is time divided by count, share
 * is the selected rows' part of the total_ns of the whole list. For any other key, and for [*], each row has its own
 * value. */
#ifndef WALLSHIM_CHECK_FIND_H
#define WALLSHIM_CHECK_FIND_H

#include <jansson.h>

#include "base/vector.h"
#include "check/rule.h"

enum ws_subject_scope { WS_SUBJECT_DEVICE, WS_SUBJECT_PROCESS, WS_SUBJECT_JOB };

struct ws_found {
    enum ws_unit unit;
    double number;
    const char *text; /* WS_UNIT_TEXT; NULL if the report has null (not known). Lives as long as the report */
    const char *row;  /* the row's name, if a path selects several rows; else NULL */
};

/* Finds the scope that has this key. Returns 0, or -ENOENT if none has it. */
int ws_find_scope(const json_t *report, const char *key, enum ws_subject_scope *scope);

/* Adds a struct ws_found for each value of the path in the subject; [*] of an empty list adds none. Returns 0;
 * -ENOENT if a key or row does not exist; -EINVAL if the path does not fit the report; -ENOMEM. After -ENOENT and
 * -EINVAL, message holds one line that says why. */
int ws_find(const struct ws_path *path, const json_t *subject, struct ws_vector *found, char *message,
            size_t capacity);

/* The present word for a word of earlier versions: "wait" for "dependency". Other words are returned as they are. */
const char *ws_word_now(const char *word);

/* The key of the object that is most similar to a missing key; NULL: none is. */
const char *ws_nearest_key(const json_t *object, const char *key);

/* The number of letters to insert, remove or replace to turn one text into the other; 100 if a text has more than 40
 * bytes. */
size_t ws_edit_distance(const char *a, const char *b);

/* Is the distance small enough to suggest the name? */
static inline bool ws_is_near(size_t distance, size_t length)
{
    return distance <= 1 + length / 3;
}

#endif
