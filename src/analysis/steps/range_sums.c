#include "analysis/steps/range_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/steps/steps.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/salted.h"

/* A range that counts. The grouping (range_sums.h) tells which ranges count, and how they form rows. */
struct chosen {
    int64_t begin, end;
    uint32_t row;
    uint32_t parent; /* index in summer.list of the range that encloses this one; WS_NO_RANGE: none */
    uint64_t label;  /* if the rows form a tree: hash of the text of the range's label; else 0 */
};

/* All ranges of one thread that count: entries `first` to `first` + `count` - 1 of summer.list. */
struct thread {
    uint32_t first, count;
    uint32_t last; /* index in summer.list of the range that the latest call of last_begun found */
};

/* State of a row of the result while ranges and operations are added to it. */
struct row_state {
    uint32_t thread; /* index + 1 of the thread whose host time was added to the row last */
    int64_t until;   /* the row already includes the host time of `thread` up to this time; ns, host clock */
    uint32_t place;  /* index in ws_track.order, + 1, of the operation that was added to the row last */
};

struct summer {
    const struct ws_range_grouping *grouping;
    const struct ws_track *track;
    const struct ws_process *process;
    const struct ws_track_steps *steps;
    struct ws_track_ranges *result;
    /* by index of a label: 1 if ranges with this label count; the last entry is for labels that are missing from the
     * trace */
    uint8_t *counts;
    struct ws_map names; /* maps the hash of a row's name and parent row to the index of the row + 1 */
    /* if the rows form a tree: maps the hash of a label and a row to the number of ranges with this label in this
     * row */
    struct ws_map seen;
    /* if the rows form a tree: maps the hash of a parent range's label and a row to the number of different labels
     * that ranges in this row have below this parent label */
    struct ws_map below;
    struct ws_vector list;  /* struct chosen: all ranges that count, by thread, then by start */
    struct thread *threads; /* ranges of each thread, by index in ws_ranges.threads */
    /* by index in ws_ops.threads: the thread's entry in `threads`; NULL: the thread has no ranges */
    struct thread **launchers;
    struct row_state *states; /* state of each row, by the row's index */
    int64_t *steady_before;   /* by index of a step: ns of host time in the steady steps before this step */
};

/* --- which ranges count, and their names -------------------------------------------------------------- */

static bool is_of_kinds(const struct summer *summer, const struct ws_range *range)
{
    return range->kind == summer->grouping->kind || range->kind == summer->grouping->also;
}

static const char *text_of(const struct summer *summer, uint32_t label)
{
    const struct ws_label *labels = summer->process->labels.rows.data;
    return label < summer->process->labels.rows.count ? labels[label].text.data : "";
}

/* Finds the name of a label's row in the text of the label. Sets *name to the start of this name. Returns the name's
 * length, or 0 if ranges with this label do not count. */
static size_t name_in(const struct summer *summer, uint32_t label, const char **name)
{
    *name = text_of(summer, label);
    return summer->grouping->name ? summer->grouping->name(name) : strlen(*name);
}

/* Returns the index of a range's label in `counts`; the last index is for labels that the trace lost. */
static uint32_t slot_of(const struct summer *summer, uint32_t label)
{
    return (uint32_t)ws_min(label, summer->process->labels.rows.count);
}

/* Sets `counts` for the labels whose ranges count. Returns whether any range of the kind grouping->kind counts. */
static bool find_counting(struct summer *summer)
{
    const struct ws_process *process = summer->process;
    const char *name;
    bool named = false, any = false;
    for (uint32_t i = 0; i <= process->labels.rows.count; i++)
        named |= summer->counts[i] = !summer->grouping->name || name_in(summer, i, &name);
    for (size_t i = 0; i < process->ranges.rows.count && named && !any; i++) {
        const struct ws_range *range = ws_range(&process->ranges, i);
        any = range->kind == summer->grouping->kind &&
              summer->counts[slot_of(summer, ws_entries_place(&process->labels, range->name))];
    }
    return any;
}

/* Finds the row for a label's name below the row `parent`, or adds this row. Labels with the same name share a row.
 * Returns the row's index + 1, or 0 if memory runs out. */
static uint32_t range_sums_add_row(struct summer *summer, uint32_t label, uint32_t parent)
{
    struct ws_vector *rows = &summer->result->rows;
    const char *name;
    size_t length = name_in(summer, label, &name);
    uint64_t path[2] = { ws_hash(name, length), parent };
    uint64_t *number = ws_salted_put(&summer->names, ws_hash_key(path, sizeof(path)));
    if (!number)
        return 0;
    if (*number)
        return (uint32_t)*number;
    struct ws_range_row *row = ws_vector_push(rows);
    if (!row)
        return 0;
    row->label = label;
    row->parent = parent;
    row->work.until = row->own.until = INT64_MIN;
    return (uint32_t)(*number = rows->count);
}

/* Adds the label of the range to the counts of different labels (`labels`, `labels_below`) of the range's row. Labels
 * with the same text count as one label. Returns 0 or -ENOMEM. */
static int note_label(struct summer *summer, const struct chosen *chosen)
{
    const struct chosen *list = summer->list.data;
    struct ws_range_row *row = (struct ws_range_row *)summer->result->rows.data + chosen->row;
    uint64_t label[2] = { chosen->label, chosen->row };
    uint64_t above[2] = { chosen->parent != WS_NO_RANGE ? list[chosen->parent].label : 0, chosen->row };
    uint64_t *seen = ws_salted_put(&summer->seen, ws_hash_key(label, sizeof(label)));
    if (!seen)
        return -ENOMEM;
    if ((*seen)++)
        return 0;
    uint64_t *below = ws_salted_put(&summer->below, ws_hash_key(above, sizeof(above)));
    if (!below)
        return -ENOMEM;
    *below += 1;
    row->labels++;
    row->labels_below = ws_max(row->labels_below, (uint32_t)*below);
    return 0;
}

/* Finds the row of a range. If the rows form no tree, *slot keeps the index + 1 of the row for later ranges with this
 * label. */
static int find_row(struct summer *summer, struct chosen *chosen, uint32_t label, uint32_t *slot)
{
    const struct chosen *list = summer->list.data;
    bool tree = summer->grouping->tree;
    uint32_t parent = tree && chosen->parent != WS_NO_RANGE ? list[chosen->parent].row : WS_NO_RANGE;
    if (tree || !*slot)
        *slot = range_sums_add_row(summer, label, parent);
    if (!*slot)
        return -ENOMEM;
    chosen->row = *slot - 1;
    if (!tree)
        return 0;
    const char *text = text_of(summer, label);
    chosen->label = ws_hash(text, strlen(text));
    return note_label(summer, chosen);
}

/* Returns the index of the range that encloses the range at `place`, or WS_NO_RANGE. `stack` holds the ranges that
 * are open when the range at `place` begins. Pushes this range onto the stack. */
static uint32_t nest_range(const struct chosen *list, uint32_t *stack, uint32_t *depth, uint32_t place)
{
    while (*depth && list[stack[*depth - 1]].end <= list[place].begin)
        --*depth;
    uint32_t parent = *depth ? stack[*depth - 1] : WS_NO_RANGE;
    if (*depth < WS_RANGES_DEEPEST)
        stack[(*depth)++] = place;
    return parent;
}

static int choose_of_thread(struct summer *summer, uint32_t *row_of, size_t index)
{
    const struct ws_ranges *ranges = &summer->process->ranges;
    const struct ws_thread_rows *of = (const struct ws_thread_rows *)ranges->threads.data + index;
    struct thread *thread = &summer->threads[index];
    uint32_t stack[WS_RANGES_DEEPEST], depth = 0;
    thread->first = thread->last = (uint32_t)summer->list.count;
    for (uint32_t i = 0; i < of->count; i++) {
        const struct ws_range *range = ws_range(ranges, of->first + i);
        if (!is_of_kinds(summer, range))
            continue;
        uint32_t label = ws_entries_place(&summer->process->labels, range->name), slot = slot_of(summer, label);
        if (!summer->counts[slot])
            continue;
        struct chosen *chosen = ws_vector_push(&summer->list);
        if (!chosen)
            return -ENOMEM;
        *chosen = (struct chosen){ range->host_begin, range->host_end, 0, WS_NO_RANGE, 0 };
        chosen->parent = nest_range(summer->list.data, stack, &depth, (uint32_t)summer->list.count - 1);
        if (find_row(summer, chosen, label, &row_of[slot]))
            return -ENOMEM;
        thread->count++;
    }
    return 0;
}

static int add_outside(struct ws_track_ranges *result, uint32_t thread, bool has_ranges)
{
    struct ws_range_outside *outside = ws_vector_push(&result->outside);
    if (!outside)
        return -ENOMEM;
    *outside = (struct ws_range_outside){ .thread = thread, .has_ranges = has_ranges, .work.until = INT64_MIN };
    return 0;
}

static int range_sums_choose(struct summer *summer)
{
    const struct ws_ranges *ranges = &summer->process->ranges;
    const struct ws_ops *ops = &summer->process->ops;
    uint32_t *row_of = calloc(summer->process->labels.rows.count + 1, sizeof(*row_of));
    summer->threads = calloc(ranges->threads.count + 1, sizeof(*summer->threads));
    summer->launchers = calloc(ops->threads.count + 1, sizeof(struct thread *));
    int status = row_of && summer->threads && summer->launchers ? 0 : -ENOMEM;
    for (size_t i = 0; i < ranges->threads.count && !status; i++)
        status = choose_of_thread(summer, row_of, i);
    for (size_t i = 0; i < ops->threads.count && !status; i++) {
        const struct ws_thread_rows *of =
            ws_rows_of_thread(&ranges->threads, ((const uint32_t *)ops->threads.data)[i]);
        size_t index = of ? (size_t)(of - (const struct ws_thread_rows *)ranges->threads.data) : 0;
        if (of && summer->threads[index].count)
            summer->launchers[i] = &summer->threads[index];
        status = add_outside(summer->result, ((const uint32_t *)ops->threads.data)[i], summer->launchers[i]);
    }
    free(row_of);
    summer->states = status ? NULL : calloc(summer->result->rows.count + 1, sizeof(*summer->states));
    return summer->states && summer->list.data ? 0 : -ENOMEM;
}

/* --- operations in the ranges ------------------------------------------------------------------------- */

/* An operation of the device, and the gap (idle time of the device) before it. */
struct item {
    uint32_t place; /* index of the operation in ws_track.order */
    int64_t begin, end;
    int64_t launched;          /* time at which the host launched the operation; ns, host clock */
    int64_t idle, idle_steady; /* ns: length of the gap; length of its part in steady steps */
    bool steady;               /* the operation began in a steady step */
};

static void range_sums_add_work(struct ws_range_work *work, const struct item *item)
{
    int64_t more = item->end > work->until ? item->end - ws_max(item->begin, work->until) : 0;
    work->until = ws_max(work->until, item->end);
    work->all.operations++;
    work->all.busy += more;
    work->all.sum = ws_sum(work->all.sum, item->end - item->begin);
    work->all.idle += item->idle;
    work->steady.idle += item->idle_steady;
    if (!item->steady)
        return;
    work->steady.operations++;
    work->steady.busy += more;
    work->steady.sum = ws_sum(work->steady.sum, item->end - item->begin);
}

/* Returns the index of the last range of a thread that began at or before `time`, or WS_NO_RANGE. First tries the
 * result of the previous call and the next range, because most calls come in order of time. */
static uint32_t last_begun(const struct chosen *list, struct thread *thread, int64_t time)
{
    uint32_t low = thread->first, high = low + thread->count, near = thread->last;
    if (list[near].begin <= time) {
        if (near + 1 < high && list[near + 1].begin <= time)
            near++;
        if (near + 1 == high || list[near + 1].begin > time)
            return thread->last = near;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle].begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low > thread->first ? (thread->last = low - 1) : WS_NO_RANGE;
}

/* Adds the operation to the ranges in which it was launched. Returns false if it was launched outside all ranges. */
static bool add_to_ranges(struct summer *summer, struct thread *thread, const struct item *item)
{
    struct ws_range_row *rows = summer->result->rows.data;
    const struct chosen *list = summer->list.data;
    uint32_t at = last_begun(list, thread, item->launched);
    bool found = false;
    for (; at != WS_NO_RANGE; at = list[at].parent) {
        struct row_state *state = &summer->states[list[at].row];
        if ((list[at].end <= item->launched && !(found && summer->grouping->tree)) || state->place == item->place + 1)
            continue;
        state->place = item->place + 1;
        range_sums_add_work(&rows[list[at].row].work, item);
        if (!found)
            range_sums_add_work(&rows[list[at].row].own, item);
        found = true;
    }
    return found;
}

static void sum_operations(struct summer *summer, const struct ws_gaps *gaps)
{
    const struct ws_ops *ops = &summer->process->ops;
    struct ws_range_outside *outside = summer->result->outside.data;
    struct ws_steady_walk gap_walk = ws_steady_walk(summer->steps);
    size_t step = 0;
    for (size_t i = 0; i < summer->track->count; i++) {
        uint32_t op = summer->track->order[i];
        struct item item = {
            .place = (uint32_t)i,
            .begin = ws_op_begin(ops, op),
            .end = ws_op_end(ops, op),
            .launched = ws_op_host_begin(ops, op),
        };
        item.steady = ws_step_is_steady(ws_steps_next(summer->steps, &step, item.begin));
        if (ws_gap_ends_at(gaps, i)) {
            struct ws_gap gap = ws_gap_at(gaps, i);
            item.idle = ws_gap_length(&gap);
            item.idle_steady = ws_steady_part(&gap_walk, gap.begin, gap.end);
        }
        uint32_t place = ws_op_thread_place(ops, op); /* index 0: operations without a known launch */
        struct thread *thread = summer->launchers[place];
        if (!thread || !add_to_ranges(summer, thread, &item))
            range_sums_add_work(&outside[place].work, &item);
    }
}

/* --- host time in the ranges -------------------------------------------------------------------------- */

static int sum_steps(struct summer *summer)
{
    const struct ws_step *steps = summer->steps->steps.data;
    int64_t sum = 0;
    summer->steady_before = malloc((summer->steps->steps.count + 1) * sizeof(*summer->steady_before));
    for (size_t i = 0; summer->steady_before && i < summer->steps->steps.count; i++) {
        summer->steady_before[i] = sum;
        sum += ws_step_is_steady(&steps[i]) ? steps[i].host_end - steps[i].host_begin : 0;
    }
    return summer->steady_before ? 0 : -ENOMEM;
}

/* Returns the last step whose begin on the host is at or before `time`, or NULL if there is none. */
static const struct ws_step *step_begun(const struct ws_track_steps *steps, int64_t time)
{
    const struct ws_step *list = steps->steps.data;
    size_t low = 0, high = steps->steps.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].host_begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &list[low - 1] : NULL;
}

/* Returns how many ns of the host time before `time` are in steady steps. */
static int64_t steady_until(const struct summer *summer, int64_t time)
{
    const struct ws_step *step = step_begun(summer->steps, time);
    if (!step)
        return 0;
    int64_t before = summer->steady_before[step - (const struct ws_step *)summer->steps->steps.data];
    return before + (ws_step_is_steady(step) ? ws_min(time, step->host_end) - step->host_begin : 0);
}

static bool ends_in_steady(const struct summer *summer, const struct chosen *chosen)
{
    int64_t last = ws_max(chosen->end - 1, chosen->begin);
    const struct ws_step *step = step_begun(summer->steps, last);
    return ws_step_is_steady(step) && last < step->host_end;
}

/* Adds a range's host time to the own time of its row, and subtracts it from the own time of the row of the enclosing
 * range. */
static void add_own_stay(const struct summer *summer, const struct chosen *chosen)
{
    struct ws_range_row *rows = summer->result->rows.data, *row = &rows[chosen->row];
    const struct chosen *parent =
        chosen->parent != WS_NO_RANGE ? (const struct chosen *)summer->list.data + chosen->parent : NULL;
    int64_t before = steady_until(summer, chosen->begin);
    row->all.own = ws_sum(row->all.own, chosen->end - chosen->begin);
    row->steady.own = ws_sum(row->steady.own, steady_until(summer, chosen->end) - before);
    if (!parent)
        return;
    int64_t end = ws_min(chosen->end, parent->end);
    row = &rows[parent->row];
    row->all.own = ws_sum(row->all.own, chosen->begin - end);
    row->steady.own = ws_sum(row->steady.own, before - steady_until(summer, end));
}

static void add_stay(const struct summer *summer, struct ws_range_row *row, struct row_state *state,
                     const struct chosen *chosen)
{
    int64_t from = ws_max(chosen->begin, state->until);
    add_own_stay(summer, chosen);
    row->all.count++;
    row->steady.count += ends_in_steady(summer, chosen);
    if (chosen->end <= from)
        return;
    state->until = chosen->end;
    row->all.host = ws_sum(row->all.host, chosen->end - from);
    row->steady.host = ws_sum(row->steady.host, steady_until(summer, chosen->end) - steady_until(summer, from));
}

static void sum_stays(struct summer *summer)
{
    struct ws_range_row *rows = summer->result->rows.data;
    const struct chosen *list = summer->list.data;
    for (size_t index = 0; index < summer->process->ranges.threads.count; index++) {
        const struct thread *thread = &summer->threads[index];
        for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
            struct row_state *state = &summer->states[list[i].row];
            if (state->thread != index + 1)
                *state = (struct row_state){ .thread = (uint32_t)index + 1, .until = INT64_MIN };
            add_stay(summer, &rows[list[i].row], state, &list[i]);
        }
    }
}

/* --- all together ------------------------------------------------------------------------------------- */

static void finish_summer(struct summer *summer)
{
    ws_vector_finish(&summer->list);
    ws_map_finish(&summer->names);
    ws_map_finish(&summer->seen);
    ws_map_finish(&summer->below);
    free(summer->counts);
    free(summer->threads);
    free(summer->launchers);
    free(summer->states);
    free(summer->steady_before);
}

int ws_ranges_sum(const struct ws_report *report, size_t subject, const struct ws_range_grouping *grouping,
                  struct ws_track_ranges *result)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    struct summer summer = {
        .grouping = grouping,
        .track = track,
        .process = ws_model_process(report->model, track->process),
        .steps = ws_report_result(report, &ws_analysis_steps, subject),
        .result = result,
        .list = WS_VECTOR(struct chosen),
    };
    result->rows = WS_VECTOR(struct ws_range_row);
    result->outside = WS_VECTOR(struct ws_range_outside);
    summer.counts = calloc(summer.process->labels.rows.count + 1, sizeof(*summer.counts));
    int status = summer.counts ? 0 : -ENOMEM;
    if (!status && find_counting(&summer))
        status = range_sums_choose(&summer);
    if (!status && result->rows.count)
        status = sum_steps(&summer);
    if (!status && result->rows.count) {
        sum_operations(&summer, &activity->gaps);
        sum_stays(&summer);
    }
    finish_summer(&summer);
    return status;
}

void ws_ranges_finish_sums(struct ws_track_ranges *result)
{
    ws_vector_finish(&result->rows);
    ws_vector_finish(&result->outside);
}
