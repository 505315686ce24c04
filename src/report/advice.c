#include "report/advice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *label;
    enum ws_wall wall;
} parts[WS_PART_COUNT] = {
#define PART(part, key, of, text) [WS_PART_##part] = { key, text, WS_WALL_##of },
    WS_PARTS(PART)
#undef PART
};

static const char *const walls[WS_WALL_COUNT] = { "none", "compute", "bandwidth", "communication", "overhead" };

const char *ws_part_name(enum ws_part part)
{
    return parts[part].name;
}

const char *ws_part_label(enum ws_part part)
{
    return parts[part].label;
}

enum ws_wall ws_part_wall(enum ws_part part)
{
    return parts[part].wall;
}

const char *ws_wall_name(enum ws_wall wall)
{
    return walls[wall];
}

static void finish_one(struct ws_advice *advice)
{
    free(advice->what);
    free(advice->where);
    free(advice->evidence);
}

int ws_advice_add(struct ws_advice_list *list, const struct ws_advice *advice)
{
    struct ws_advice copy = *advice;
    if (!copy.name)
        copy.name = ws_part_name(copy.part);
    copy.what = strdup(advice->what);
    copy.where = strdup(advice->where ? advice->where : "");
    copy.evidence = strdup(advice->evidence ? advice->evidence : "");
    struct ws_advice *place = copy.what && copy.where && copy.evidence ? ws_vector_push(&list->items) : NULL;
    if (!place) {
        finish_one(&copy);
        return -ENOMEM;
    }
    *place = copy;
    return 0;
}

static int advice_largest_first(const void *a, const void *b)
{
    const struct ws_advice *x = a, *y = b;
    if (x->saving_ns != y->saving_ns)
        return x->saving_ns < y->saving_ns ? 1 : -1;
    return strcmp(x->what, y->what);
}

static void advice_sort(struct ws_advice_list *list)
{
    if (list->items.count)
        qsort(list->items.data, list->items.count, sizeof(struct ws_advice), advice_largest_first);
}

int64_t ws_advice_settle(struct ws_advice_list *list, uint32_t track, const int64_t *available)
{
    struct ws_advice *items = list->items.data;
    int64_t left[WS_PART_COUNT], sum = 0;
    size_t kept = 0;
    memcpy(left, available, sizeof(left));
    advice_sort(list);
    for (size_t i = 0; i < list->items.count; i++) {
        int64_t *part = &left[items[i].part];
        if (items[i].saving_ns > *part)
            items[i].saving_ns = *part;
        if (items[i].track != track || items[i].saving_ns <= 0) {
            finish_one(&items[i]);
            continue;
        }
        *part -= items[i].saving_ns;
        sum += items[i].saving_ns;
        items[kept++] = items[i];
    }
    list->items.count = kept;
    advice_sort(list);
    return sum;
}

void ws_advice_finish(struct ws_advice_list *list)
{
    struct ws_advice *items = list->items.data;
    for (size_t i = 0; i < list->items.count; i++)
        finish_one(&items[i]);
    ws_vector_finish(&list->items);
}
