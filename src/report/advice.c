#include "report/advice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

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
    free(advice->code);
    free(advice->evidence);
}

int ws_advice_add(struct ws_advice_list *list, const struct ws_advice *advice)
{
    struct ws_advice copy = *advice;
    if (!copy.name)
        copy.name = ws_part_name(copy.part);
    copy.what = strdup(advice->what);
    copy.where = strdup(advice->where ? advice->where : "");
    copy.code = strdup(advice->code ? advice->code : "");
    copy.evidence = strdup(advice->evidence ? advice->evidence : "");
    struct ws_advice *place =
        copy.what && copy.where && copy.code && copy.evidence ? ws_vector_push(&list->items) : NULL;
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

/* Subtracts the advice's saving from the parts that the advice shortens. left[] is the time of each part that no
 * other advice has saved yet, in ns. Returns the time subtracted, which is less than the saving if too little time is
 * left. */
static int64_t advice_take(const struct ws_advice *advice, int64_t left[WS_PART_COUNT])
{
    unsigned of = 1U << advice->part | advice->also;
    int64_t taken = 0;
    for (int part = 0; part < WS_PART_COUNT; part++) {
        int64_t some = of >> part & 1 ? ws_max(ws_min(advice->saving_ns - taken, left[part]), 0) : 0;
        left[part] -= some;
        taken += some;
    }
    return taken;
}

int64_t ws_advice_settle(struct ws_advice_list *list, uint32_t track, const int64_t *available)
{
    struct ws_advice *items = list->items.data;
    int64_t left[WS_PART_COUNT], sum = 0;
    size_t kept = 0;
    memcpy(left, available, sizeof(left));
    advice_sort(list);
    for (size_t i = 0; i < list->items.count; i++) {
        items[i].saving_ns = items[i].track == track ? advice_take(&items[i], left) : 0;
        if (items[i].saving_ns <= 0) {
            finish_one(&items[i]);
            continue;
        }
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

const char *ws_advice_place(const struct ws_advice *advice, char text[WS_ADVICE_PLACE])
{
    snprintf(text, WS_ADVICE_PLACE, "%s%s%s%s", *advice->where ? "; at " : "", advice->where,
             *advice->where && *advice->code ? ": " : "", *advice->where ? advice->code : "");
    return text;
}
