/* Finds the values that a path names in a JSON report.
 *
 * A path begins at the JSON objects that have its first key: at the objects of devices if a device has the key, else
 * at the objects of processes if a process has the key, else at the object of the whole job. In a list, ["TEXT"]
 * selects the rows of class TEXT, or the rows with TEXT in their names. The values of the selected rows are combined
 * into one value. Counts, bytes and times are added up. The combined min_ns is the minimum over these rows, max_ns
 * the maximum. mean_ns is the sum of total_ns divided by the sum of the counts. share is the sum of total_ns over the
 * selected rows, divided by the sum of total_ns over the whole list. With any other key, or with [*], the values are
 * not combined: each row gives one value. */
#ifndef WALLSHIM_CHECK_FIND_H
#define WALLSHIM_CHECK_FIND_H

#include <jansson.h>

#include "base/vector.h"
#include "check/rule.h"

enum ws_subject_scope { WS_SUBJECT_DEVICE, WS_SUBJECT_PROCESS, WS_SUBJECT_JOB };

struct ws_found {
    enum ws_unit unit;
    double number;
    /* The value, if the unit is WS_UNIT_TEXT; valid as long as the report. NULL: the report has null (not known). */
    const char *text;
    const char *row; /* name of the row that holds the value, if the path selects several rows; else NULL */
};

/* Finds out whether devices, processes or the job have this key. Returns 0, or -ENOENT if none of them has the
 * key. */
int ws_find_scope(const json_t *report, const char *key, enum ws_subject_scope *scope);

/* Adds a struct ws_found to `found` for each value that the path selects in the subject. [*] on an empty list adds
 * nothing. Returns 0, -ENOENT if a key or row of the path does not exist, -EINVAL if the path does not fit the
 * report, or -ENOMEM. After -ENOENT and -EINVAL, message holds one line that says why. */
int ws_find(const struct ws_path *path, const json_t *subject, struct ws_vector *found, char *message,
            size_t capacity);

/* Returns the current word for a word that earlier versions of wallshim used in reports: "wait" for "dependency".
 * Returns any other word unchanged. */
const char *ws_word_now(const char *word);

/* Returns the key of the object that is most similar to a missing key, or NULL if no key is similar. */
const char *ws_nearest_key(const json_t *object, const char *key);

/* Returns the Levenshtein distance of the texts in bytes, or 100 if a text has more than 40 bytes. */
size_t ws_edit_distance(const char *a, const char *b);

/* Returns whether two names are similar: whether their edit distance is small for a name of `length` bytes. */
static inline bool ws_is_near(size_t distance, size_t length)
{
    return distance <= 1 + length / 3;
}

#endif
