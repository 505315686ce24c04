#include "analysis/gaps/gap_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/activity/stream_order.h"
#include "base/minmax.h"
#include "base/salted.h"

enum {
    MOST_WAITS = 8, /* at most this many waits for events are examined per operation */
    /* for a gap of cause `wait`, at most this many operations are visited to find the stream's previous operation */
    MOST_STEPS = 100000,
    FEW_STEPS = 64, /* like MOST_STEPS, but for a gap of cause `dispatch` */
};

struct finder {
    const struct ws_report *report;
    const struct ws_track *track;
    const struct ws_process *process;
    const struct ws_stream_order *order;
    size_t steps; /* number of operations that all searches together may still visit; at first WS_GAP_WAIT_STEPS */
};

static struct finder finder_of(const struct ws_report *report, size_t subject)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    return (struct finder){
        .report = report,
        .track = track,
        .process = ws_model_process(report->model, track->process),
        .order = ws_report_result(report, &ws_analysis_stream_order, track->process),
        .steps = WS_GAP_WAIT_STEPS,
    };
}

static const struct ws_op_shape *gap_waits_shape_of(const struct finder *finder, uint32_t op)
{
    return ws_process_shape(finder->process, finder->process->ops.shape[op]);
}

/* Returns the stream's last operation that was launched before `time`. Goes back through track->order from index
 * `place` and takes the first match, because the operations of a stream begin in order of their launches. Returns
 * WS_NOWHERE if `most` operations were visited without success. */
static uint32_t op_before(struct finder *finder, const struct ws_track *track, size_t place, uint32_t stream,
                          int64_t time, size_t most)
{
    const struct ws_ops *ops = &finder->process->ops;
    for (size_t i = place; i-- > 0 && most > 0 && finder->steps > 0; most--, finder->steps--) {
        uint32_t op = track->order[i];
        if (gap_waits_shape_of(finder, op)->row.stream == stream && ws_op_host_begin(ops, op) < time)
            return op;
    }
    return WS_NOWHERE;
}

/* Returns the first index in track->order at which an operation begins after `time`. */
static size_t place_after(const struct finder *finder, const struct ws_track *track, int64_t time)
{
    size_t low = 0, high = track->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ws_op_begin(&finder->process->ops, track->order[middle]) <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds an operation on another device that was launched into the stream before `time` and ended during the gap.
 * Returns WS_NOWHERE if there is none. */
static uint32_t op_elsewhere(struct finder *finder, uint32_t stream, int64_t time, int64_t begin, int64_t end)
{
    const struct ws_process *process = finder->process;
    for (uint32_t i = 0; i < process->track_count; i++) {
        const struct ws_track *track = ws_model_track(finder->report->model, process->first_track + i);
        if (track == finder->track || !track->aligned)
            continue;
        uint32_t op = op_before(finder, track, place_after(finder, track, end), stream, time, MOST_STEPS);
        if (op == WS_NOWHERE)
            continue;
        int64_t error = track->clock_error + finder->track->clock_error + ws_op_end_error(&process->ops, op);
        int64_t over = ws_op_end(&process->ops, op);
        if (over > begin && over <= end + error)
            return op;
    }
    return WS_NOWHERE;
}

static enum ws_waited_for what_holds(const struct finder *finder, uint32_t op)
{
    switch (gap_waits_shape_of(finder, op)->row.kind) {
    case WS_OP_HOST_FUNCTION:
        return WS_WAITED_HOST_FUNCTION;
    case WS_OP_MEMORY_OP:
        return WS_WAITED_MEMORY_VALUE;
    default:
        return WS_WAITED_INTEROP;
    }
}

/* Finds out why a stream waited for an event. There are three possible reasons. First: an operation on another device
 * came before the event, in the stream that recorded the event. Second: a host function, a wait for a memory value or
 * the like came before the event in that stream. Third: the trace does not show where the event was recorded. Returns
 * false if none of these reasons applies. */
static bool explain_event(struct finder *finder, const struct ws_order_entry *wait, int64_t begin, int64_t end,
                          struct ws_gap_wait *found)
{
    const struct ws_order_entry *record = ws_order_record_before(finder->order, wait->event, wait->time);
    if (!record) {
        *found = (struct ws_gap_wait){ WS_WAITED_FOREIGN_EVENT, WS_NOWHERE };
        return true;
    }
    uint32_t op = op_elsewhere(finder, record->stream, record->time, begin, end);
    if (op != WS_NOWHERE) {
        *found = (struct ws_gap_wait){ WS_WAITED_EVENT, op };
        return true;
    }
    const struct ws_order_entry *hold = ws_order_hold_before(finder->order, record->stream, record->time);
    size_t place = place_after(finder, finder->track, begin);
    uint32_t last =
        hold ? op_before(finder, finder->track, place, record->stream, record->time, MOST_STEPS) : WS_NOWHERE;
    if (!hold || (last != WS_NOWHERE && ws_op_host_begin(&finder->process->ops, last) > hold->time))
        return false;
    *found = (struct ws_gap_wait){ what_holds(finder, hold->op), hold->op };
    return true;
}

/* Is explanation `a` more certain than `b`? */
static bool is_better(enum ws_waited_for a, enum ws_waited_for b)
{
    static const int rank[WS_WAITED_COUNT] = {
        [WS_WAITED_EVENT] = 3,   [WS_WAITED_HOST_FUNCTION] = 2, [WS_WAITED_MEMORY_VALUE] = 2,
        [WS_WAITED_INTEROP] = 2, [WS_WAITED_FOREIGN_EVENT] = 1,
    };
    return rank[a] > rank[b];
}

static struct ws_gap_wait explain_wait(struct finder *finder, const struct ws_gap *gap)
{
    const struct ws_ops *ops = &finder->process->ops;
    uint32_t stream = gap_waits_shape_of(finder, gap->after)->row.stream;
    int64_t launch = ws_op_host_begin(ops, gap->after);
    struct ws_gap_wait best = { WS_WAITED_NOT_KNOWN, WS_NOWHERE };
    if (!stream)
        return best;
    uint32_t before = op_before(finder, finder->track, gap->place, stream, launch, MOST_STEPS);
    int64_t from = before == WS_NOWHERE ? INT64_MIN : ws_op_host_begin(ops, before);
    const struct ws_order_entry *hold = ws_order_hold_before(finder->order, stream, launch);
    if (hold && hold->time > from)
        best = (struct ws_gap_wait){ what_holds(finder, hold->op), hold->op };
    int64_t time = launch;
    for (int i = 0; i < MOST_WAITS; i++) {
        const struct ws_order_entry *wait = ws_order_wait_before(finder->order, stream, time);
        struct ws_gap_wait found;
        if (!wait || wait->time <= from)
            break;
        if (explain_event(finder, wait, gap->begin, gap->end, &found) && is_better(found.what, best.what))
            best = found;
        time = wait->time;
    }
    uint32_t other = gap_waits_shape_of(finder, gap->before)->row.stream;
    if (best.what == WS_WAITED_NOT_KNOWN && other && other != stream)
        best = (struct ws_gap_wait){ WS_WAITED_LAST_ENDED, gap->before };
    return best;
}

/* Did the operation at index `place` have to wait for an event that was recorded in stream `other`? */
static bool is_ordered(struct finder *finder, size_t place, uint32_t other)
{
    const struct ws_ops *ops = &finder->process->ops;
    uint32_t op = finder->track->order[place], stream = gap_waits_shape_of(finder, op)->row.stream;
    uint32_t before = op_before(finder, finder->track, place, stream, ws_op_host_begin(ops, op), FEW_STEPS);
    int64_t from = before == WS_NOWHERE ? INT64_MIN : ws_op_host_begin(ops, before), time = ws_op_host_begin(ops, op);
    for (int i = 0; i < MOST_WAITS; i++) {
        const struct ws_order_entry *wait = ws_order_wait_before(finder->order, stream, time);
        if (!wait || wait->time <= from)
            return false;
        const struct ws_order_entry *record = ws_order_record_before(finder->order, wait->event, wait->time);
        if (record && record->stream == other)
            return true;
        time = wait->time;
    }
    return false;
}

static struct ws_gap_wait gap_waits_explain(struct finder *finder, enum ws_part cause, const struct ws_gap *gap)
{
    uint32_t stream = gap_waits_shape_of(finder, gap->after)->row.stream;
    uint32_t other = gap_waits_shape_of(finder, gap->before)->row.stream;
    struct ws_gap_wait wait = { WS_WAITED_NOT_KNOWN, WS_NOWHERE };
    if (cause == WS_PART_WAIT)
        return explain_wait(finder, gap);
    if (stream && other) {
        wait.op = gap->before;
        wait.what = stream == other                         ? WS_WAITED_OWN_STREAM
                    : is_ordered(finder, gap->place, other) ? WS_WAITED_EVENT
                                                            : WS_WAITED_LAST_ENDED;
    }
    return wait;
}

struct ws_gap_wait ws_gap_wait_of(const struct ws_report *report, size_t track, enum ws_part cause,
                                  const struct ws_gap *gap)
{
    struct finder finder = finder_of(report, track);
    return gap_waits_explain(&finder, cause, gap);
}

bool ws_gap_wait_is_shown(const struct ws_report *report, size_t track, const struct ws_gap *gap, size_t *steps)
{
    struct finder finder = finder_of(report, track);
    if (!*steps) /* the limit for the search is reached */
        return false;
    finder.steps = *steps;
    enum ws_waited_for what = explain_wait(&finder, gap).what;
    *steps = finder.steps;
    return what == WS_WAITED_EVENT || what == WS_WAITED_HOST_FUNCTION || what == WS_WAITED_MEMORY_VALUE ||
           what == WS_WAITED_INTEROP;
}

const struct ws_gap_wait_row *ws_gap_wait_mostly(const struct ws_report *report, size_t track)
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, track);
    const struct ws_track_waits *waits = ws_report_result(report, &ws_analysis_gap_waits, track);
    const struct ws_gap_wait_row *rows = waits->rows.data;
    int64_t all = ws_gap_time(causes, &causes->totals[WS_PART_WAIT]);
    for (size_t i = 0; i < waits->rows.count; i++)
        if (rows[i].cause == WS_PART_WAIT)
            return 2 * ws_gap_time(causes, &rows[i].gaps) >= all ? &rows[i] : NULL;
    return NULL;
}

/* The key of a row (struct ws_gap_wait_row). `own` holds the cause, the stream and the kind of wait. `other` holds
 * the target of the wait: for cause `dispatch` a stream, for cause `wait` a stream and the name of an operation. */
struct key {
    uint64_t own, other;
};

static struct key gap_waits_key_of(const struct finder *finder, enum ws_part cause, uint32_t stream,
                                   const struct ws_gap_wait *wait)
{
    struct key key = { (uint64_t)stream << 8 | (uint64_t)wait->what << 4 | cause, 0 };
    if (wait->op != WS_NOWHERE && wait->what != WS_WAITED_OWN_STREAM) {
        const struct ws_op_shape *shape = gap_waits_shape_of(finder, wait->op);
        key.other = cause == WS_PART_WAIT ? (uint64_t)shape->name << 32 | shape->row.stream : shape->row.stream;
    }
    return key;
}

/* Finds rows (struct ws_gap_wait_row) by their keys. The last key is kept with its row, so that no search is needed
 * if the next gap has the same key, as is usual. */
struct places {
    struct ws_map map; /* hash of a key → index of its row + 1 */
    struct key last_key;
    uint64_t last_place; /* index + 1 of the row with `last_key`; 0: no key yet */
};

/* Returns the index + 1 of the key's row. Adds the row if it does not exist. Returns 0 if memory runs out. */
static uint64_t gap_waits_place_of(struct places *places, struct ws_vector *rows, struct key key,
                                   const struct ws_gap_wait_row *new)
{
    if (places->last_place && key.own == places->last_key.own && key.other == places->last_key.other)
        return places->last_place;
    uint64_t *place = ws_salted_put(&places->map, (ws_map_hash(key.other) ^ ws_map_hash(key.own) << 1) | 1);
    struct ws_gap_wait_row *row = place && !*place ? ws_vector_push(rows) : NULL;
    if (row) {
        *row = *new;
        *place = rows->count;
    }
    if (!place || !*place)
        return 0;
    places->last_key = key;
    return places->last_place = *place;
}

static int gap_waits_count(struct finder *finder, struct places *places, struct ws_vector *rows, enum ws_part cause,
                           const struct ws_gap *gap, int64_t steady)
{
    struct ws_gap_wait wait = gap_waits_explain(finder, cause, gap);
    uint32_t stream = gap_waits_shape_of(finder, gap->after)->row.stream;
    int64_t length = ws_gap_length(gap);
    struct ws_gap_wait_row new = { .cause = cause, .wait = wait, .stream = stream };
    uint64_t place = gap_waits_place_of(places, rows, gap_waits_key_of(finder, cause, stream, &wait), &new);
    if (!place)
        return -ENOMEM;
    struct ws_gap_total *total = &((struct ws_gap_wait_row *)rows->data + (place - 1))->gaps;
    total->count++;
    total->total += length;
    total->steady_count += steady > 0;
    total->steady += steady;
    return 0;
}

static int gap_waits_most_first(const void *a, const void *b)
{
    const struct ws_gap_wait_row *x = a, *y = b;
    if (x->gaps.steady != y->gaps.steady)
        return x->gaps.steady < y->gaps.steady ? 1 : -1;
    if (x->gaps.total != y->gaps.total)
        return x->gaps.total < y->gaps.total ? 1 : -1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

static int gap_waits_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, subject);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct ws_track_waits *result = memory;
    struct finder finder = finder_of(report, subject);
    struct places places = { 0 };
    struct ws_steady_walk steady_walk = ws_steady_walk(steps);
    struct ws_gap_run run = { 0 };
    int status = 0;
    result->rows = WS_VECTOR(struct ws_gap_wait_row);
    struct ws_gap_walk walk = ws_gap_walk(&activity->gaps, 0);
    for (struct ws_gap gap; !status && ws_gap_next(&walk, &gap);) {
        ws_gap_run_reach(causes, &run, &gap);
        if (!ws_is_queued_cause(run.cause)) {
            walk = ws_gap_walk(&activity->gaps, run.to);
            continue;
        }
        int64_t steady = ws_steady_part(&steady_walk, gap.begin, gap.end);
        status = gap_waits_count(&finder, &places, &result->rows, run.cause, &gap, steady);
    }
    if (result->rows.count)
        qsort(result->rows.data, result->rows.count, sizeof(struct ws_gap_wait_row), gap_waits_most_first);
    ws_map_finish(&places.map);
    return status;
}

static void gap_waits_finish(void *memory)
{
    struct ws_track_waits *result = memory;
    ws_vector_finish(&result->rows);
}

const struct ws_analysis ws_analysis_gap_waits = {
    .name = "gap_waits",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_waits),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_causes, &ws_analysis_stream_order },
    .run = gap_waits_run,
    .finish = gap_waits_finish,
};
