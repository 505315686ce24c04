#include "model/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"
#include "model/line_table.h"
#include "model/own_code.h"
#include "model/ranges.h"

void ws_stacks_init(struct ws_stacks *stacks)
{
    *stacks = (struct ws_stacks){ .rows = WS_VECTOR(struct ws_stack), .threads = WS_VECTOR(struct ws_thread_rows) };
    ws_entries_init(&stacks->codes, WS_FAMILY_code);
    ws_entries_init(&stacks->frames, WS_FAMILY_frame);
}

void ws_stacks_finish(struct ws_stacks *stacks)
{
    ws_entries_finish(&stacks->codes);
    ws_entries_finish(&stacks->frames);
    ws_vector_finish(&stacks->rows);
    ws_vector_finish(&stacks->threads);
    ws_map_finish(&stacks->of_shapes);
    free(stacks->places);
}

static const struct ws_frame *frame_at(const struct ws_stacks *stacks, uint32_t index)
{
    return (const struct ws_frame *)stacks->frames.rows.data + index;
}

static const struct ws_code *code_of(const struct ws_stacks *stacks, uint32_t index)
{
    return ws_entries_find(&stacks->codes, frame_at(stacks, index)->code);
}

/* --- places ------------------------------------------------------------------------------------- */

static int frames_by_code(const void *a, const void *b)
{
    const struct ws_frame *const *x = a, *const *y = b;
    if ((*x)->code != (*y)->code)
        return (*x)->code < (*y)->code ? -1 : 1;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* Finds the lines of all frames. Each table of lines is read once, because files may be made to have large tables and
 * many frames. */
static int find_lines(struct ws_stacks *stacks)
{
    size_t count = stacks->frames.rows.count;
    const struct ws_frame **order = malloc((count + 1) * sizeof(const struct ws_frame *));
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        order[i] = frame_at(stacks, (uint32_t)i);
    qsort(order, count, sizeof(const struct ws_frame *), frames_by_code);
    for (size_t i = 0; i < count;) {
        const struct ws_code *code = ws_entries_find(&stacks->codes, order[i]->code);
        struct ws_line_table table = ws_line_table(code ? code : &(struct ws_code){ 0 });
        struct ws_line_run run = { 0 };
        for (uint32_t of = order[i]->code; i < count && order[i]->code == of; i++) {
            while (order[i]->offset >= run.end && ws_line_table_next(&table, &run))
                ;
            bool within = order[i]->offset >= run.begin && order[i]->offset < run.end;
            bool is_known = within && run.line > 0 && run.line <= INT32_MAX;
            stacks->places[order[i] - frame_at(stacks, 0)].line = is_known ? (uint32_t)run.line
                                                                  : code   ? code->first_line
                                                                           : 0;
        }
    }
    free(order);
    return 0;
}

/* Returns the first frame that was put under the three numbers. */
static uint32_t first_with(struct ws_map *map, const uint64_t numbers[3], uint32_t frame, int *status)
{
    uint64_t *first = ws_map_put(map, ws_salted_key(numbers, 3 * sizeof(numbers[0])));
    if (!first) {
        *status = -ENOMEM;
        return frame;
    }
    if (!*first)
        *first = (uint64_t)frame + 1;
    return (uint32_t)(*first - 1);
}

/* Code that is executed or loaded anew has a code object of its own, but is the same to a reader. */
static uint64_t text_key(const struct ws_text *text)
{
    return text ? ws_salted_key(text->data, text->length) : 0;
}

static bool is_own(const struct ws_code *code)
{
    return code && ws_is_own_file(code->file.data, code->file.length);
}

static bool same_file(const struct ws_code *a, const struct ws_code *b)
{
    return a && b && a->file.length == b->file.length && !memcmp(a->file.data, b->file.data, a->file.length);
}

/* Finds the places of all frames. A frame's caller stands before it. */
static int find_places(struct ws_stacks *stacks)
{
    size_t count = stacks->frames.rows.count;
    uint32_t *roots = malloc((count + 1) * sizeof(*roots)); /* the outermost frame of the program's own code */
    struct ws_map lines = { 0 }, pairs = { 0 };
    int status = roots ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && !status; i++) {
        const struct ws_frame *frame = frame_at(stacks, i);
        const struct ws_code *code = code_of(stacks, i);
        struct ws_stack_place *place = &stacks->places[i];
        uint32_t caller = frame->caller ? ws_entries_place(&stacks->frames, frame->caller) : WS_NO_FRAME;
        const struct ws_stack_place *outer = caller < i ? &stacks->places[caller] : NULL;
        bool own = is_own(code);
        const uint64_t shown_as[] = { text_key(code ? &code->file : NULL), text_key(code ? &code->name : NULL),
                                      place->line };
        uint32_t same = first_with(&lines, shown_as, i, &status);
        roots[i] = outer && roots[caller] != WS_NO_FRAME ? roots[caller] : own ? i : WS_NO_FRAME;
        bool in_script = own && roots[i] != WS_NO_FRAME && same_file(code, code_of(stacks, roots[i]));
        place->own = own ? same : outer ? outer->own : WS_NO_FRAME;
        place->script = in_script ? same : outer ? outer->script : WS_NO_FRAME;
        /* Without any own code, the innermost frame is the place. */
        uint32_t shown = place->own != WS_NO_FRAME ? place->own : same;
        place->pause = WS_NO_FRAME;
        const uint64_t pair[] = { shown, place->script, 0 };
        place->place = first_with(&pairs, pair, i, &status);
    }
    free(roots);
    ws_map_finish(&lines);
    ws_map_finish(&pairs);
    return status;
}

/* --- rows ---------------------------------------------------------------------------------------- */

static int stacks_by_time(const void *a, const void *b)
{
    const struct ws_stack *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->host_ns > y->host_ns) - (x->host_ns < y->host_ns);
}

static int index_rows(struct ws_stacks *stacks)
{
    const struct ws_stack *rows = stacks->rows.data;
    struct ws_thread_rows *thread = NULL;
    for (size_t i = 0; i < stacks->rows.count; i++) {
        if (!thread || thread->thread != rows[i].thread) {
            thread = ws_vector_push(&stacks->threads);
            if (!thread)
                return -ENOMEM;
            *thread = (struct ws_thread_rows){ .thread = rows[i].thread, .first = (uint32_t)i };
        }
        thread->count++;
        uint64_t *of_shape = rows[i].shape ? ws_salted_put(&stacks->of_shapes, rows[i].shape) : NULL;
        if (rows[i].shape && !of_shape)
            return -ENOMEM;
        if (of_shape)
            *of_shape = i + 1;
    }
    return 0;
}

static uint32_t place_of(const struct ws_stacks *stacks, const struct ws_stack *row)
{
    uint32_t index = ws_entries_place(&stacks->frames, row->frame);
    return index == UINT32_MAX ? WS_NO_FRAME : stacks->places[index].place;
}

/* Finds where the pauses before each place were spent, by majority vote: each pause votes for its place. */
static void find_pauses(struct ws_stacks *stacks)
{
    const struct ws_stack *rows = stacks->rows.data;
    for (size_t i = 1; i < stacks->rows.count; i++) {
        const struct ws_stack *pause = &rows[i - 1], *call = &rows[i];
        uint32_t at = place_of(stacks, call), spent = place_of(stacks, pause);
        if (!pause->in_pause || call->in_pause || call->thread != pause->thread || at == WS_NO_FRAME)
            continue;
        struct ws_stack_place *place = &stacks->places[at];
        if (!place->votes)
            place->pause = spent;
        place->votes += place->pause == spent ? 1u : -1u;
    }
}

int ws_stacks_order(struct ws_stacks *stacks)
{
    if (!stacks->rows.count)
        return 0;
    stacks->places = calloc(stacks->frames.rows.count + 1, sizeof(*stacks->places));
    int status = stacks->places ? find_lines(stacks) : -ENOMEM;
    if (!status)
        status = find_places(stacks);
    qsort(stacks->rows.data, stacks->rows.count, sizeof(struct ws_stack), stacks_by_time);
    if (!status)
        find_pauses(stacks);
    return status ? status : index_rows(stacks);
}

/* Is row a better answer than b for this time? */
static bool is_nearer(const struct ws_stack *row, const struct ws_stack *than, int64_t time)
{
    if (!than || row->in_pause != than->in_pause)
        return !than || row->in_pause;
    /* Of calls, the one after the pause: what was done meanwhile was done for it. */
    return row->in_pause ? llabs(row->host_ns - time) < llabs(than->host_ns - time) : row->host_ns >= time;
}

uint32_t ws_stacks_at(const struct ws_stacks *stacks, uint32_t thread, int64_t time, int64_t reach)
{
    const struct ws_thread_rows *list = ws_rows_of_thread(&stacks->threads, thread);
    const struct ws_stack *best = NULL;
    if (!list)
        return WS_NO_FRAME;
    const struct ws_stack *rows = (const struct ws_stack *)stacks->rows.data + list->first;
    size_t low = 0, high = list->count;
    while (low < high) { /* the first row from time on */
        size_t middle = low + (high - low) / 2;
        if (rows[middle].host_ns < time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && time - rows[low - 1].host_ns <= reach)
        best = &rows[low - 1];
    if (low < list->count && rows[low].host_ns - time <= reach && is_nearer(&rows[low], best, time))
        best = &rows[low];
    uint32_t place = best ? place_of(stacks, best) : WS_NO_FRAME;
    bool ended_pause = best && !best->in_pause && reach && best->host_ns >= time && place != WS_NO_FRAME;
    return ended_pause && stacks->places[place].votes ? stacks->places[place].pause : place;
}

uint32_t ws_stacks_of_shape(const struct ws_stacks *stacks, uint32_t shape)
{
    const uint64_t *row = stacks->rows.count ? ws_salted_get(&stacks->of_shapes, shape) : NULL;
    return row ? place_of(stacks, (const struct ws_stack *)stacks->rows.data + (*row - 1)) : WS_NO_FRAME;
}

/* --- texts ----------------------------------------------------------------------------------------- */

static size_t write_frame(const struct ws_stacks *stacks, uint32_t index, const char *before, char *text,
                          size_t capacity)
{
    const struct ws_code *code = code_of(stacks, index);
    const char *file = code ? strrchr(code->file.data, '/') : NULL;
    int length = snprintf(text, capacity, "%s%s (%s:%u)", before, code ? code->name.data : "?",
                          file   ? file + 1
                          : code ? code->file.data
                                 : "?",
                          stacks->places[index].line);
    return length < 0 ? 0 : (size_t)length < capacity ? (size_t)length : capacity ? capacity - 1 : 0;
}

void ws_stacks_text(const struct ws_stacks *stacks, uint32_t place, char *text, size_t capacity)
{
    const struct ws_stack_place *found = &stacks->places[place];
    size_t used = write_frame(stacks, found->own != WS_NO_FRAME ? found->own : place, "", text, capacity);
    if (found->script != WS_NO_FRAME && found->script != found->own)
        write_frame(stacks, found->script, " from ", text + used, capacity - used);
}
