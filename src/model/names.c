#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/salted.h"
#include "model/build.h"

/* Names a kind of memory as Kineto does, so that a copy has the same name in wallshim's traces and in traces from
 * Kineto. */
static const char *space_word(uint32_t space)
{
    static const char *const words[] = { "Unknown", "Pageable", "Pinned", "Device",
                                         "Array",   "Managed",  "Device", "Host" };
    _Static_assert(sizeof(words) / sizeof(words[0]) == WS_SPACE_COUNT, "one word a space");
    return space < WS_SPACE_COUNT ? words[space] : "Unknown";
}

static char side_letter(uint32_t space)
{
    switch (space) {
    case WS_SPACE_PAGEABLE:
    case WS_SPACE_PINNED:
    case WS_SPACE_HOST:
        return 'H';
    case WS_SPACE_ARRAY:
        return 'A';
    case WS_SPACE_PEER:
        return 'P';
    case WS_SPACE_DEVICE:
    case WS_SPACE_MANAGED:
        return 'D';
    default:
        return 0;
    }
}

static void copy_name(char *text, size_t capacity, const struct ws_shape *shape)
{
    char from = side_letter(shape->from_space), to = side_letter(shape->to_space);
    const char *from_word = space_word(shape->from_space), *to_word = space_word(shape->to_space);
    if (from == 'P' || to == 'P')
        snprintf(text, capacity, "Memcpy PtoP (%s -> %s)", from_word, to_word);
    else if (!from || !to)
        snprintf(text, capacity, "Memcpy Unknown (%s -> %s)", from_word, to_word);
    else
        snprintf(text, capacity, "Memcpy %cto%c (%s -> %s)", from, to, from_word, to_word);
}

/* Returns the index of a name, and adds the name if it is new. Returns WS_NOWHERE when memory runs out. */
static uint32_t name_index(struct ws_build *build, const char *text, enum ws_op_kind kind, enum ws_activity activity)
{
    uint64_t key = XXH3_64bits_withSeed(text, strlen(text), ws_salt + kind);
    struct ws_vector *names = &build->model->names;
    for (;; key++) {
        uint64_t *place = ws_salted_put(&build->names, key ? key : ++key);
        if (!place)
            return WS_NOWHERE;
        if (!*place) {
            struct ws_op_name *name = ws_vector_push(names);
            char *copy = ws_arena_copy(&build->model->texts, text, strlen(text));
            if (!name || !copy)
                return WS_NOWHERE;
            *name = (struct ws_op_name){ copy, activity, kind };
            *place = names->count;
            return (uint32_t)(names->count - 1);
        }
        const struct ws_op_name *known = ws_model_name(build->model, *place - 1);
        if (known->kind == kind && !strcmp(known->text, text))
            return (uint32_t)(*place - 1);
    }
}

static uint32_t kernel_name(struct ws_build *build, const struct ws_process *process, uint32_t id)
{
    char text[64];
    const struct ws_function *function = ws_entries_find(&process->functions, id);
    if (function && function->name.length)
        return name_index(build, function->name.data, WS_OP_KERNEL, WS_ACTIVITY_KERNEL);
    snprintf(text, sizeof(text), "kernel #%u (%s)", id, function ? "without a name" : "name lost");
    return name_index(build, text, WS_OP_KERNEL, WS_ACTIVITY_KERNEL);
}

uint32_t ws_build_shape_name(struct ws_build *build, const struct ws_process *process,
                             const struct ws_op_shape *shape)
{
    const struct ws_shape *row = &shape->row;
    char text[96];
    if (shape->lost) {
        snprintf(text, sizeof(text), "operation #%u (description lost)", row->id);
        return name_index(build, text, WS_OP_UNKNOWN, WS_ACTIVITY_KERNEL);
    }
    const struct ws_function *function = ws_entries_find(&process->functions, row->function);
    bool named = (row->kind == WS_OP_COPY || row->kind == WS_OP_MEMSET) && function && function->name.length;
    if (named) /* in an imported trace, the other profiler named the operation */
        return name_index(build, function->name.data, (enum ws_op_kind)row->kind, WS_ACTIVITY_MEMORY);
    switch (row->kind) {
    case WS_OP_KERNEL:
        return kernel_name(build, process, row->function);
    case WS_OP_COPY:
        copy_name(text, sizeof(text), row);
        return name_index(build, text, WS_OP_COPY, WS_ACTIVITY_MEMORY);
    case WS_OP_MEMSET:
        snprintf(text, sizeof(text), "Memset (%s)", space_word(row->to_space));
        return name_index(build, text, WS_OP_MEMSET, WS_ACTIVITY_MEMORY);
    case WS_OP_GRAPH:
        snprintf(text, sizeof(text), "CUDA graph #%u", row->function);
        return name_index(build, text, WS_OP_GRAPH, WS_ACTIVITY_KERNEL);
    case WS_OP_PREFETCH:
        return name_index(build, "Prefetch (Managed)", WS_OP_PREFETCH, WS_ACTIVITY_MEMORY);
    case WS_OP_DECOMPRESS:
        return name_index(build, "Decompress", WS_OP_DECOMPRESS, WS_ACTIVITY_MEMORY);
    case WS_OP_HOST_FUNCTION:
        return name_index(build, "Host function", WS_OP_HOST_FUNCTION, WS_ACTIVITY_NONE);
    case WS_OP_MEMORY_OP:
        return name_index(build, "Stream memory operation", WS_OP_MEMORY_OP, WS_ACTIVITY_NONE);
    case WS_OP_INTEROP:
        return name_index(build, "External semaphore or graphics resource", WS_OP_INTEROP, WS_ACTIVITY_NONE);
    default:
        snprintf(text, sizeof(text), "operation of kind %u", row->kind);
        return name_index(build, text, WS_OP_UNKNOWN, WS_ACTIVITY_KERNEL);
    }
}
