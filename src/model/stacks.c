#include "model/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "base/salted.h"
#include "model/line_table.h"
#include "model/own_code.h"
#include "model/ranges.h"

void ws_stacks_init(struct ws_stacks *stacks)
{
    *stacks = (struct ws_stacks){ .rows = WS_VECTOR(struct ws_stack),
                                  .threads = WS_VECTOR(struct ws_thread_rows),
                                  .calls = WS_VECTOR(struct ws_stack_calls) };
    ws_entries_init(&stacks->codes, WS_FAMILY_code);
    ws_entries_init(&stacks->frames, WS_FAMILY_frame);
}

void ws_stacks_finish(struct ws_stacks *stacks)
{
    ws_entries_finish(&stacks->codes);
    ws_entries_finish(&stacks->frames);
    ws_vector_finish(&stacks->rows);
    ws_vector_finish(&stacks->threads);
    ws_vector_finish(&stacks->calls);
    ws_map_finish(&stacks->of_shapes);
    free(stacks->places);
}

static const struct ws_frame *frame_at(const struct ws_stacks *stacks, uint32_t index)
{
    return (const struct ws_frame *)stacks->frames.rows.data + index;
}

const struct ws_code *ws_stacks_code(const struct ws_stacks *stacks, uint32_t frame)
{
    return ws_entries_find(&stacks->codes, frame_at(stacks, frame)->code);
}

uint32_t ws_stacks_caller(const struct ws_stacks *stacks, uint32_t frame)
{
    uint32_t caller = frame_at(stacks, frame)->caller;
    uint32_t place = caller ? ws_entries_place(&stacks->frames, caller) : WS_NO_FRAME;
    return place < frame ? place : WS_NO_FRAME;
}

/* --- places ------------------------------------------------------------------------------------- */

static int frames_by_code(const void *a, const void *b)
{
    const struct ws_frame *const *x = a, *const *y = b;
    if ((*x)->code != (*y)->code)
        return (*x)->code < (*y)->code ? -1 : 1;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

/* Finds the lines of all frames. Reads each code's line table only once, because a malicious file may have large
 * tables and many frames. */
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
            bool is_given = code && code->coding == WS_LINES_GIVEN;
            bool within = order[i]->offset >= run.begin && order[i]->offset < run.end;
            bool is_known = within && run.line > 0 && run.line <= INT32_MAX;
            stacks->places[order[i] - frame_at(stacks, 0)].line = is_given   ? order[i]->offset
                                                                  : is_known ? (uint32_t)run.line
                                                                  : code     ? code->first_line
                                                                             : 0;
        }
    }
    free(order);
    return 0;
}

/* Returns the first frame that was passed to this function with these three numbers. `map` stores that frame. */
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

/* Files and functions are compared by their texts, because code that is loaded twice has two rows in
 * ws_stacks.codes. */
static uint64_t text_key(const struct ws_text *text)
{
    return text ? ws_salted_key(text->data, text->length) : 0;
}

bool ws_stacks_is_own(const struct ws_stacks *stacks, uint32_t frame)
{
    const struct ws_code *code = ws_stacks_code(stacks, frame);
    if (!code || code->coding != WS_LINES_GIVEN)
        return code && ws_is_own_file(code->file.data, code->file.length);
    /* Each program contains functions of the C or Rust runtime, such as _start. These functions have no lines. If the
     * program was built with debugging information, its own functions have lines. */
    return ws_is_own_module(code->file.data, code->file.length) &&
           (stacks->places[frame].line || !stacks->has_native_lines) && strcmp(code->name.data, "_start") != 0;
}

static bool same_file(const struct ws_code *a, const struct ws_code *b)
{
    return a && b && a->file.length == b->file.length && !memcmp(a->file.data, b->file.data, a->file.length);
}

/* Finds the place of each frame (stacks.h: one place for all stacks that reports show as the same text). A frame's
 * caller has a lower index, so the caller's place is already known. */
static int find_places(struct ws_stacks *stacks)
{
    size_t count = stacks->frames.rows.count;
    /* For each frame: the outermost frame of the program's own code among the frame and its callers. */
    uint32_t *roots = malloc((count + 1) * sizeof(*roots));
    struct ws_map lines = { 0 }, pairs = { 0 };
    int status = roots ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && !status; i++) {
        const struct ws_code *code = ws_stacks_code(stacks, i);
        struct ws_stack_place *place = &stacks->places[i];
        uint32_t caller = ws_stacks_caller(stacks, i);
        const struct ws_stack_place *outer = caller != WS_NO_FRAME ? &stacks->places[caller] : NULL;
        bool own = ws_stacks_is_own(stacks, i);
        const uint64_t shown_as[] = { text_key(code ? &code->file : NULL), text_key(code ? &code->name : NULL),
                                      place->line };
        uint32_t same = first_with(&lines, shown_as, i, &status);
        roots[i] = outer && roots[caller] != WS_NO_FRAME ? roots[caller] : own ? i : WS_NO_FRAME;
        bool in_script = own && roots[i] != WS_NO_FRAME && same_file(code, ws_stacks_code(stacks, roots[i]));
        place->own = own ? same : outer ? outer->own : WS_NO_FRAME;
        place->script = in_script ? same : outer ? outer->script : WS_NO_FRAME;
        /* If no frame of the stack is in the program's own code, reports show the innermost frame. */
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
    struct ws_stack_calls *calls = NULL;
    for (size_t i = 0; i < stacks->rows.count; i++) {
        if (!thread || thread->thread != rows[i].thread) {
            thread = ws_vector_push(&stacks->threads);
            calls = thread ? ws_vector_push(&stacks->calls) : NULL;
            if (!calls)
                return -ENOMEM;
            *thread = (struct ws_thread_rows){ .thread = rows[i].thread, .first = (uint32_t)i };
            *calls = (struct ws_stack_calls){ .first = SIZE_MAX };
        }
        if (!rows[i].in_pause) {
            calls->first = ws_min(calls->first, (size_t)thread->count);
            calls->last = thread->count;
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

/* A pause (a thread's time between two calls) is sampled as a row whose in_pause is 1. The thread's next row is the
 * call that ended the pause. For each place whose calls ended pauses, finds by majority vote the place at which most
 * of these pauses were spent. */
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

/* Does the stack `row` show better than the stack `than` what the thread was executing at this time? */
static bool is_nearer(const struct ws_stack *row, const struct ws_stack *than, int64_t time)
{
    if (!than || row->in_pause != than->in_pause)
        return !than || row->in_pause;
    /* Of two stacks of calls, prefer the stack of the later call: the thread was preparing this call. */
    return row->in_pause ? llabs(row->host_ns - time) < llabs(than->host_ns - time) : row->host_ns >= time;
}

/* Returns the index of the first row at or after `time`; `count` if no row is so late. */
static size_t first_from(const struct ws_stack *rows, size_t count, int64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].host_ns < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t ws_stacks_at(const struct ws_stacks *stacks, uint32_t thread, int64_t time, int64_t reach)
{
    const struct ws_thread_rows *list = ws_rows_of_thread(&stacks->threads, thread);
    const struct ws_stack *best = NULL;
    if (!list)
        return WS_NO_FRAME;
    const struct ws_stack *rows = (const struct ws_stack *)stacks->rows.data + list->first;
    size_t low = first_from(rows, list->count, time);
    if (low && time - rows[low - 1].host_ns <= reach)
        best = &rows[low - 1];
    if (low < list->count && rows[low].host_ns - time <= reach && is_nearer(&rows[low], best, time))
        best = &rows[low];
    uint32_t place = best ? place_of(stacks, best) : WS_NO_FRAME;
    bool ended_pause = best && !best->in_pause && reach && best->host_ns >= time && place != WS_NO_FRAME;
    return ended_pause && stacks->places[place].votes ? stacks->places[place].pause : place;
}

/* A sample shows where a thread waits, but only for times near the sample (SAMPLE_REACH). A pause without a sample
 * counts as waiting if it lies between two calls that have stacks, is at least as long as the pauses that get samples
 * (shim/drain/pauses.c), and is not too long. Times in ns. */
static const int64_t SAMPLE_REACH = 50000000, PAUSE_LEAST = 500000, PAUSE_MOST = 1000000000;

/* Returns the place at which the thread of these rows waits at `time`; WS_NO_FRAME: unknown. The nearest sample in
 * the pause around `time` gives the place. If the pause has no sample, the place is the one at which most pauses that
 * ended with a call from the same place were spent. The pause must lie between two calls, because a thread that makes
 * no more calls does not wait for anything. *apart: ns between sample and `time`; INT64_MAX: no sample. */
static uint32_t waits_at(const struct ws_stacks *stacks, const struct ws_stack *rows,
                         const struct ws_stack_calls *calls, size_t count, int64_t time, int64_t *apart)
{
    size_t after = first_from(rows, count, time);
    if (after <= calls->first || after > calls->last)
        return WS_NO_FRAME;
    const struct ws_stack *before = &rows[after - 1], *behind = &rows[after], *nearest = NULL;
    if (before->in_pause)
        nearest = before;
    if (behind->in_pause && (!nearest || behind->host_ns - time < time - nearest->host_ns))
        nearest = behind;
    *apart = nearest ? llabs(nearest->host_ns - time) : INT64_MAX;
    if (nearest)
        return *apart <= SAMPLE_REACH ? place_of(stacks, nearest) : WS_NO_FRAME;
    int64_t length = behind->host_ns - before->host_ns;
    uint32_t end = length >= PAUSE_LEAST && length <= PAUSE_MOST ? place_of(stacks, behind) : WS_NO_FRAME;
    return end != WS_NO_FRAME && stacks->places[end].votes ? stacks->places[end].pause : WS_NO_FRAME;
}

uint32_t ws_stacks_waiting(const struct ws_stacks *stacks, uint32_t thread, int64_t time)
{
    enum { MOST_THREADS = 64 }; /* maximum number of threads to search; a limit keeps reports fast */
    const struct ws_thread_rows *lists = stacks->threads.data;
    const struct ws_stack_calls *calls = stacks->calls.data;
    uint32_t best = WS_NO_FRAME;
    int64_t best_apart = 0, apart;
    if (ws_rows_of_thread(&stacks->threads, thread))
        return WS_NO_FRAME;
    for (size_t i = 0; i < stacks->threads.count && i < MOST_THREADS; i++) {
        const struct ws_stack *rows = (const struct ws_stack *)stacks->rows.data + lists[i].first;
        uint32_t place = waits_at(stacks, rows, &calls[i], lists[i].count, time, &apart);
        if (place == WS_NO_FRAME || (best != WS_NO_FRAME && apart >= best_apart))
            continue;
        best = place;
        best_apart = apart;
    }
    return best;
}

uint32_t ws_stacks_of_shape(const struct ws_stacks *stacks, uint32_t shape)
{
    const uint64_t *row = stacks->rows.count ? ws_salted_get(&stacks->of_shapes, shape) : NULL;
    return row ? place_of(stacks, (const struct ws_stack *)stacks->rows.data + (*row - 1)) : WS_NO_FRAME;
}

/* --- texts ----------------------------------------------------------------------------------------- */

/* Writes " (FILE:LINE)". Native code without a line gets only " (FILE)", or "" if its name already begins with the
 * file's name. */
static void write_place(const struct ws_code *code, uint32_t line, char *text, size_t capacity)
{
    const char *slash = strrchr(code->file.data, '/'), *file = slash ? slash + 1 : code->file.data;
    size_t length = strlen(file);
    bool is_native = code->coding == WS_LINES_GIVEN;
    *text = 0;
    if (line || !is_native)
        snprintf(text, capacity, " (%s:%u)", file, line);
    else if (strncmp(code->name.data, file, length) || strncmp(code->name.data + length, "+0x", 3))
        snprintf(text, capacity, " (%s)", file);
}

static size_t write_frame(const struct ws_stacks *stacks, uint32_t index, const char *before, char *text,
                          size_t capacity)
{
    char place[512] = " (?:0)";
    const struct ws_code *code = ws_stacks_code(stacks, index);
    if (code)
        write_place(code, stacks->places[index].line, place, sizeof(place));
    int length = snprintf(text, capacity, "%s%s%s", before, code ? code->name.data : "?", place);
    return length < 0 ? 0 : (size_t)length < capacity ? (size_t)length : capacity ? capacity - 1 : 0;
}

void ws_stacks_text(const struct ws_stacks *stacks, uint32_t place, char *text, size_t capacity)
{
    const struct ws_stack_place *found = &stacks->places[place];
    size_t used = write_frame(stacks, found->own != WS_NO_FRAME ? found->own : place, "", text, capacity);
    if (found->script != WS_NO_FRAME && found->script != found->own)
        write_frame(stacks, found->script, " from ", text + used, capacity - used);
}

bool ws_stacks_line(const struct ws_stacks *stacks, uint32_t place, char *path, size_t capacity, uint32_t *line)
{
    const struct ws_stack_place *found = &stacks->places[place];
    uint32_t shown = found->script != WS_NO_FRAME ? found->script : found->own != WS_NO_FRAME ? found->own : place;
    const struct ws_code *code = ws_stacks_code(stacks, shown);
    if (!code || code->file.length >= capacity)
        return false;
    snprintf(path, capacity, "%s", code->file.data);
    *line = stacks->places[shown].line;
    return true;
}
