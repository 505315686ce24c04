#include "analysis/gaps/gap_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pages.h"
#include "base/salted.h"
#include "model/source_line.h"

/* Sizes, in bits, of the parts of a key in ws_gap_lines.places. If a value needs more bits, it counts as not
 * known. */
enum { THREAD_BITS = 16, FUNCTION_BITS = 16, SOURCE_BITS = 27 };

int ws_gap_lines_init(struct ws_gap_lines *lines, const struct ws_process *process, struct ws_vector *rows)
{
    *lines = (struct ws_gap_lines){ .process = process, .rows = rows };
    lines->known = calloc(process->labels.rows.count + 1, 1);
    return lines->known ? 0 : -ENOMEM;
}

void ws_gap_lines_finish(struct ws_gap_lines *lines)
{
    free(lines->known);
    ws_map_finish(&lines->places);
}

/* Returns the index + 1 of the row with this id in `rows`. Returns 0 if there is no such row, or if the index needs
 * more than `bits` bits. */
static uint64_t key_part(const struct ws_entries *rows, uint32_t id, int bits)
{
    uint64_t place = id ? (uint64_t)ws_entries_place(rows, id) + 1 : 0;
    return place >> bits ? 0 : place;
}

/* Returns a number for a place in the program, different for each place; 0: not known. The lowest bit is 0 for ranges
 * and 1 for stack frames. */
static uint64_t source_key(const struct ws_process *process, struct ws_source source)
{
    if (source.frame != WS_NO_FRAME)
        return (source.frame + (uint64_t)1) >> SOURCE_BITS ? 0 : ((uint64_t)source.frame + 1) << 1 | 1;
    if (source.range == WS_NO_RANGE)
        return 0;
    return key_part(&process->labels, ws_range(&process->ranges, source.range)->name, SOURCE_BITS) << 1;
}

struct ws_gap_line *ws_gap_lines_put(struct ws_gap_lines *lines, enum ws_part cause, uint32_t thread, int64_t time,
                                     int64_t reach, uint32_t function)
{
    const struct ws_process *process = lines->process;
    uint32_t identifier = ((const uint32_t *)process->ops.threads.data)[thread];
    struct ws_source source = { WS_NO_RANGE, WS_NO_FRAME };
    if (time != INT64_MIN)
        source = ws_source_at(process, identifier, time, reach, lines->known);
    uint64_t place = source_key(process, source);
    uint64_t key = place ? place << FUNCTION_BITS : key_part(&process->driver_functions, function, FUNCTION_BITS);
    key = (key << THREAD_BITS | thread) << 4 | (cause + 1);
    if (key == lines->last_key)
        return (struct ws_gap_line *)lines->rows->data + (lines->last_place - 1);
    uint64_t *line_place = ws_salted_put(&lines->places, key);
    if (!line_place)
        return NULL;
    if (!*line_place) {
        struct ws_gap_line *line = ws_vector_push(lines->rows);
        if (!line)
            return NULL;
        *line = (struct ws_gap_line){
            .cause = cause,
            .thread = identifier,
            .source = place ? source : (struct ws_source){ WS_NO_RANGE, WS_NO_FRAME },
            .function = function,
        };
        *line_place = lines->rows->count;
    }
    lines->last_key = key;
    lines->last_place = *line_place;
    return (struct ws_gap_line *)lines->rows->data + (*line_place - 1);
}

bool ws_gap_line_text(const struct ws_process *process, const struct ws_gap_line *line, char *text, size_t capacity)
{
    return ws_source_text(process, line->source, text, capacity);
}

bool ws_gap_line_code(const struct ws_process *process, const struct ws_gap_line *line, char text[WS_SOURCE_CODE])
{
    return ws_source_code(process, line->source, text);
}

bool ws_gap_line_where(const struct ws_process *process, const struct ws_gap_line *line, char *text, size_t capacity)
{
    const struct ws_driver_function *function = ws_entries_find(&process->driver_functions, line->function);
    if (ws_gap_line_text(process, line, text, capacity))
        return true;
    snprintf(text, capacity, "%s", function ? function->name.data : "");
    return *text != 0;
}

/* A line (gaps of one cause and place) and its index before sorting. */
struct ranked {
    struct ws_gap_line line;
    uint32_t place;
};

static int gap_lines_most_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->line.gaps.steady != y->line.gaps.steady)
        return x->line.gaps.steady < y->line.gaps.steady ? 1 : -1;
    if (x->line.gaps.total != y->line.gaps.total)
        return x->line.gaps.total < y->line.gaps.total ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

void ws_gap_run_next(const struct ws_track_causes *causes, struct ws_gap_run *run)
{
    run->line = causes->run_lines[run->number++];
    run->cause = ((const struct ws_gap_line *)causes->lines.data)[run->line].cause;
    size_t word = (run->to + 1) / 64;
    uint64_t turns = causes->turns[word] & ~0ULL << (run->to + 1) % 64;
    while (!turns && run->number < causes->run_count)
        turns = causes->turns[++word];
    run->to = turns ? word * 64 + (size_t)__builtin_ctzll(turns) : causes->places;
}

int ws_gap_lines_sort(struct ws_track_causes *causes)
{
    struct ws_gap_line *rows = causes->lines.data;
    size_t count = causes->lines.count;
    struct ranked *ranked = ws_pages_alloc((count + 1) * sizeof(*ranked));
    uint32_t *now = malloc((count + 1) * sizeof(*now));
    int status = ranked && now ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !status; i++)
        ranked[i] = (struct ranked){ rows[i], (uint32_t)i };
    if (!status && count)
        qsort(ranked, count, sizeof(*ranked), gap_lines_most_first);
    for (size_t i = 0; i < count && !status; i++) {
        rows[i] = ranked[i].line;
        now[ranked[i].place] = (uint32_t)i;
    }
    for (size_t i = 0; i < causes->run_count && !status; i++)
        causes->run_lines[i] = now[causes->run_lines[i]];
    free(ranked);
    free(now);
    return status;
}
