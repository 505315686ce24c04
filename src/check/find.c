#include "check/find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/kernels/classify.h"
#include "base/minmax.h"

struct search {
    const struct ws_path *path;
    struct ws_vector *found; /* struct ws_found */
    enum ws_unit unit;
    const char *row;
    char *message;
    size_t capacity;
};

/* --- misspelt names ------------------------------------------------------------------------------ */

enum { LONGEST_NAME = 40, FAR = 100 };

size_t ws_edit_distance(const char *a, const char *b)
{
    size_t row[LONGEST_NAME + 1], length = strlen(b);
    if (strlen(a) > LONGEST_NAME || length > LONGEST_NAME)
        return FAR;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replaced = diagonal + (a[i] != b[j]), shorter = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = ws_min(replaced, shorter);
        }
    }
    return row[length];
}

const char *ws_nearest_key(const json_t *object, const char *key)
{
    const char *name, *nearest = NULL;
    size_t least = FAR;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        size_t distance = ws_edit_distance(key, name);
        if (distance < least) {
            least = distance;
            nearest = name;
        }
    }
    return ws_is_near(least, strlen(key)) ? nearest : NULL;
}

const char *ws_word_now(const char *word)
{
    return strcmp(word, "dependency") == 0 ? "wait" : word;
}

/* --- single values ----------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

/* Returns the unit that the key's suffix names, such as "_ns". A key without such a suffix has the unit of the key
 * that encloses it, `inherited`. */
static enum ws_unit find_unit_of(const char *key, enum ws_unit inherited)
{
    if (ends_in(key, "_ns") || strstr(key, "_ns_per_") || !strcmp(key, "parts"))
        return WS_UNIT_TIME;
    if (ends_in(key, "bytes"))
        return WS_UNIT_BYTES;
    if (ends_in(key, "share") || !strcmp(key, "cov"))
        return WS_UNIT_SHARE;
    return inherited;
}

static int find_add(struct search *search, enum ws_unit unit, double number, const char *text)
{
    struct ws_found *found = ws_vector_push(search->found);
    if (!found)
        return -ENOMEM;
    *found = (struct ws_found){ unit, number, text, search->row };
    return 0;
}

static int find_complain(struct search *search, int status, const char *what, const char *name)
{
    snprintf(search->message, search->capacity, "%s%.60s", what, name);
    return status;
}

static int add_value(struct search *search, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_INTEGER:
    case JSON_REAL:
        return find_add(search, search->unit, json_number_value(value), NULL);
    case JSON_STRING:
        return find_add(search, WS_UNIT_TEXT, 0, json_string_value(value));
    case JSON_TRUE:
        return find_add(search, WS_UNIT_TEXT, 0, "true");
    case JSON_FALSE:
        return find_add(search, WS_UNIT_TEXT, 0, "false");
    case JSON_NULL:
        return find_add(search, WS_UNIT_TEXT, 0, NULL);
    case JSON_ARRAY:
        return find_complain(search, -EINVAL, "is a list: add [N], [*] or [\"TEXT\"] and a key", "");
    case JSON_OBJECT:
        break;
    }
    const char *key = json_object_iter_key(json_object_iter((json_t *)value));
    return find_complain(search, -EINVAL, "has several figures: name one, such as .", key ? key : "");
}

/* --- rows of a list ---------------------------------------------------------------------------- */

static const char *name_of_row(const json_t *row)
{
    static const char *const keys[] = { "name", "operation", "function", "reason", "text" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (json_string_value(json_object_get(row, keys[i])))
            return json_string_value(json_object_get(row, keys[i]));
    return NULL;
}

static bool is_class(const char *text)
{
    for (uint32_t i = 0; i < WS_CLASS_COUNT; i++)
        if (!strcmp(text, ws_kernel_class_name(i)))
            return true;
    return false;
}

/* Returns whether a row of a list in the report has the class `text`, or has `text` in its name. A class must match
 * exactly, so ["copy"] does not select every kernel with "copy" in its name. */
static bool is_called(const json_t *row, const char *text)
{
    const char *class = json_string_value(json_object_get(row, "class")), *name = name_of_row(row);
    if (class && is_class(text))
        return !strcmp(class, text);
    return (class && !strcmp(class, text)) || (name && strstr(name, text));
}

/* Sums over those rows of a list that a path such as kernels["gemm"] selects. */
struct sums {
    size_t rows;
    double value; /* sum of the values of the path's last key; if the key is min_ns or max_ns: their minimum or
                     maximum */
    double count, total;
    double all; /* sum of total_ns over all rows of the list, selected or not */
    bool known; /* at least one selected row has the path's last key */
};

static double find_number_at(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static struct sums sum_rows(const json_t *list, const char *text, const char *key)
{
    struct sums sums = { 0 };
    size_t index;
    json_t *row;
    json_array_foreach((json_t *)list, index, row)
    {
        sums.all += find_number_at(row, "total_ns");
        if (!is_called(row, text))
            continue;
        double value = find_number_at(row, key);
        bool known = json_object_get(row, key);
        sums.count += find_number_at(row, "count");
        sums.total += find_number_at(row, "total_ns");
        sums.rows++;
        if (!known)
            continue;
        if (!sums.known || (strcmp(key, "min_ns") != 0 && strcmp(key, "max_ns") != 0))
            sums.value += value;
        else if (strcmp(key, "min_ns") == 0 ? value < sums.value : value > sums.value)
            sums.value = value;
        sums.known = true;
    }
    return sums;
}

/* Returns whether the values of this key in all selected rows are combined into one value. */
static bool is_taken_together(const char *key)
{
    static const char *const keys[] = { "count", "total_ns", "bytes",    "min_ns", "max_ns",
                                        "share", "mean_ns",  "blocking", "small",  "timed" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

static int find_find_in(struct search *search, size_t at, const json_t *node);

static int add_rows_together(struct search *search, const json_t *list, const char *text, const char *key)
{
    struct sums sums = sum_rows(list, text, key);
    search->unit = find_unit_of(key, search->unit);
    if (!sums.rows && !is_class(text))
        return find_complain(search, -ENOENT, "no row is called ", text);
    if (!strcmp(key, "share"))
        return sums.all > 0 ? find_add(search, WS_UNIT_SHARE, sums.total / sums.all, NULL)
                            : find_complain(search, -ENOENT, "the list holds no time", "");
    if (!strcmp(key, "mean_ns"))
        return sums.count > 0 ? find_add(search, WS_UNIT_TIME, sums.total / sums.count, NULL)
                              : find_complain(search, -ENOENT, "there is none of class ", text);
    if (sums.rows && !sums.known)
        return find_complain(search, -ENOENT, "the rows have no key ", key);
    if (!sums.rows && (!strcmp(key, "min_ns") || !strcmp(key, "max_ns")))
        return find_complain(search, -ENOENT, "there is none of class ", text);
    return find_add(search, search->unit, sums.value, NULL);
}

static int find_rows(struct search *search, size_t at, const json_t *list)
{
    const struct ws_path_part *part = &search->path->parts[at];
    const struct ws_path_part *next = at + 1 < search->path->count ? part + 1 : NULL;
    if (part->kind == WS_PATH_ROWS && next && next->kind == WS_PATH_KEY && at + 2 == search->path->count &&
        is_taken_together(next->text))
        return add_rows_together(search, list, part->text, next->text);
    size_t index, matches = 0;
    json_t *row;
    int status = 0;
    json_array_foreach((json_t *)list, index, row)
    {
        if (part->kind == WS_PATH_ROWS && !is_called(row, part->text))
            continue;
        matches++;
        search->row = name_of_row(row);
        status = find_find_in(search, at + 1, row);
        if (status)
            return status;
    }
    if (!matches && part->kind == WS_PATH_ROWS)
        return find_complain(search, -ENOENT, "no row is called ", part->text);
    return status;
}

/* --- paths ------------------------------------------------------------------------------------- */

static int find_key(struct search *search, size_t at, const json_t *node)
{
    const char *key = ws_word_now(search->path->parts[at].text);
    if (json_is_array(node))
        return find_complain(search, -EINVAL, "needs [N], [*] or [\"TEXT\"] before .", key);
    if (json_is_null(node))
        return find_add(search, WS_UNIT_TEXT, 0, NULL);
    const json_t *value = json_object_get(node, key);
    if (value) {
        search->unit = find_unit_of(key, search->unit);
        return find_find_in(search, at + 1, value);
    }
    const char *nearest = ws_nearest_key(node, key);
    if (!nearest)
        return find_complain(search, -ENOENT, "there is no key ", key);
    snprintf(search->message, search->capacity, "there is no key %.60s; nearest: %.60s", key, nearest);
    return -ENOENT;
}

static int find_find_in(struct search *search, size_t at, const json_t *node)
{
    const struct ws_path_part *part = &search->path->parts[at];
    enum ws_unit unit = search->unit;
    int status;
    if (at == search->path->count) {
        status = add_value(search, node);
    } else if (part->kind == WS_PATH_KEY) {
        status = find_key(search, at, node);
    } else if (!json_is_array(node)) {
        status = find_complain(search, -EINVAL, "has [ ] but is not a list", "");
    } else if (part->kind == WS_PATH_INDEX) {
        const json_t *item = json_array_get(node, part->index);
        status = item ? find_find_in(search, at + 1, item)
                      : find_complain(search, -ENOENT, "the list has fewer items than the number in [ ]", "");
    } else {
        status = find_rows(search, at, node);
    }
    search->unit = unit;
    return status;
}

int ws_find(const struct ws_path *path, const json_t *subject, struct ws_vector *found, char *message,
            size_t capacity)
{
    struct search search = { .path = path, .found = found, .message = message, .capacity = capacity };
    *message = 0;
    return find_find_in(&search, 0, subject);
}

int ws_find_scope(const json_t *report, const char *key, enum ws_subject_scope *scope)
{
    size_t i, j;
    json_t *process, *device;
    int status = -ENOENT;
    if (json_object_get(report, key)) {
        *scope = WS_SUBJECT_JOB;
        status = 0;
    }
    json_array_foreach(json_object_get(report, "processes"), i, process)
    {
        if (json_object_get(process, key)) {
            *scope = WS_SUBJECT_PROCESS;
            status = 0;
        }
        json_array_foreach(json_object_get(process, "devices"), j, device)
        {
            if (json_object_get(device, key)) {
                *scope = WS_SUBJECT_DEVICE;
                return 0;
            }
        }
    }
    return status;
}
