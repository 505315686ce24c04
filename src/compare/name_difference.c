#include "compare/name_difference.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "analysis/kernels/label.h"
#include "base/hash.h"
#include "base/salted.h"

enum { TITLE = 4096, BEFORE = 16, BEHIND = 8, MOST = 48 };

static bool name_difference_is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* Finds the part of `name` from the first to the last letter that differs from `other`. Extends the part to whole
 * words, by at most BEFORE and BEHIND letters. */
static void find_difference(const char *name, const char *other, size_t *from, size_t *to)
{
    size_t length = strlen(name), others = strlen(other), same = 0, tail = 0;
    while (name[same] && name[same] == other[same])
        same++;
    while (tail < length - same && tail < others - same && name[length - 1 - tail] == other[others - 1 - tail])
        tail++;
    *from = same;
    *to = length - tail;
    for (int i = 0; i<BEFORE && * from> 0 && name_difference_is_word(name[*from - 1]); i++)
        --*from;
    for (int i = 0; i < BEHIND && *to < length && name_difference_is_word(name[*to]); i++)
        ++*to;
}

const char *ws_name_difference(char *text, size_t capacity, const char *name, const char *other)
{
    char title[TITLE], second[TITLE];
    size_t from, to;
    ws_kernel_title(title, sizeof(title), name);
    ws_kernel_title(second, sizeof(second), other);
    if (!strcmp(name, other) || strcmp(title, second) != 0) {
        snprintf(text, capacity, "%s", title);
        return text;
    }
    find_difference(name, other, &from, &to);
    bool cut = to - from > MOST;
    snprintf(text, capacity, "%s %s%.*s%s", title, from ? "…" : "", (int)(cut ? MOST : to - from), name + from,
             cut || name[to] ? "…" : "");
    return text;
}

int ws_changes_find_alike(struct ws_change *changes, size_t count)
{
    struct ws_map titles = { 0 }; /* hash of a title → index + 1 of the first change with this title */
    char title[TITLE];
    int status = 0;
    for (size_t i = 0; i < count && !status; i++) {
        ws_kernel_title(title, sizeof(title), changes[i].label);
        uint64_t *place = ws_salted_put(&titles, ws_hash_key(title, strlen(title)));
        if (!place)
            status = -ENOMEM;
        else if (!*place)
            *place = i + 1;
        else if (strcmp(changes[i].label, changes[*place - 1].label) != 0) {
            changes[i].like = changes[*place - 1].label;
            if (!changes[*place - 1].like)
                changes[*place - 1].like = changes[i].label;
        }
    }
    ws_map_finish(&titles);
    return status;
}
