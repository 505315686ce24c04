#include "analysis/steps/even_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/marked_steps.h"
#include "base/salted.h"
#include "record/range_name.h"

enum {
    LEAST_RANGES = 4,
    EVEN_OF_TEN = 9,     /* at least this many tenths of the intervals must be between half and twice the median */
    LAUNCHED_OF_TEN = 5, /* at least this many tenths of the device's operations must be launched in the steps */
};

/* The ranges of one thread whose names differ only in a counter, such as "batch 1" and "batch 2". */
struct repeated {
    uint64_t name; /* hash of the name without the counter */
    const struct ws_thread_rows *thread;
    size_t count;
    int64_t lasted, until; /* ns: sum of the ranges' durations; end of the last range (host clock) */
};

/* Returns an array with an entry for each label (name of ranges): a hash of the label's text without the number of
 * the iteration, so that "step 7" and "step 8" have the same hash. The entry is 0 if the text does not name an
 * iteration. */
static uint64_t *read_names(const struct ws_process *process)
{
    const struct ws_label *labels = process->labels.rows.data;
    size_t count = process->labels.rows.count;
    uint64_t *names = calloc(count + 1, sizeof(*names));
    for (size_t i = 0; names && i < count; i++) {
        struct ws_range_name name = ws_range_name_read(labels[i].text.data, labels[i].text.length);
        if (name.kind == WS_RANGE_ANNOTATION && ws_range_names_iteration(labels[i].text.data, name.length))
            names[i] = ws_salted_key(labels[i].text.data, name.length);
    }
    return names;
}

/* Returns the range at index `place` in ws_process.ranges, or NULL if its name does not name an iteration. Sets *name
 * to the range's hash from read_names. */
static const struct ws_range *named_range(const struct ws_process *process, const uint64_t *names, uint32_t place,
                                          uint64_t *name)
{
    const struct ws_range *range = ws_range(&process->ranges, place);
    uint32_t label = ws_entries_place(&process->labels, range->name);
    *name = range->kind == WS_RANGE_ANNOTATION && label != UINT32_MAX ? names[label] : 0;
    return *name ? range : NULL;
}

/* Adds to the list those ranges of a thread that are named after iterations. The list has an entry for each name
 * (struct repeated). If ranges of the same name are nested, only the outermost one counts. */
static int add_thread(const struct ws_process *process, const struct ws_thread_rows *thread, const uint64_t *names,
                      struct ws_vector *list)
{
    struct ws_map known = { 0 };
    int status = 0;
    for (uint32_t i = 0; i < thread->count && !status; i++) {
        uint64_t name;
        const struct ws_range *range = named_range(process, names, thread->first + i, &name);
        uint64_t *index = range ? ws_salted_put(&known, name) : NULL;
        if (range && !index)
            status = -ENOMEM;
        if (!index)
            continue;
        if (!*index && ws_vector_push(list)) {
            *index = list->count;
            ((struct repeated *)list->data)[*index - 1] =
                (struct repeated){ .name = name, .thread = thread, .until = INT64_MIN };
        }
        if (!*index) {
            status = -ENOMEM;
            continue;
        }
        struct repeated *repeated = (struct repeated *)list->data + *index - 1;
        if (range->host_begin < repeated->until)
            continue;
        repeated->count++;
        repeated->lasted = ws_sum(repeated->lasted, range->host_end - range->host_begin);
        repeated->until = range->host_end;
    }
    ws_map_finish(&known);
    return status;
}

/* Fills `begins` with the start times of the ranges in `repeated`, and with the end of the last of these ranges. */
static int collect_begins(const struct ws_process *process, const uint64_t *names, const struct repeated *repeated,
                          struct ws_vector *begins)
{
    int64_t until = INT64_MIN;
    for (uint32_t i = 0; i < repeated->thread->count; i++) {
        uint64_t name;
        const struct ws_range *range = named_range(process, names, repeated->thread->first + i, &name);
        if (!range || name != repeated->name || range->host_begin < until)
            continue;
        int64_t *begin = ws_vector_push(begins);
        if (!begin)
            return -ENOMEM;
        *begin = range->host_begin;
        until = range->host_end;
    }
    int64_t *end = ws_vector_push(begins);
    if (end)
        *end = until;
    return end ? 0 : -ENOMEM;
}

/* Does the later half of the ranges start at even intervals? `begins` holds the ranges' `count` start times in
 * ascending order, and after them the end of the last range. Returns 1, 0 or -ENOMEM. */
static int are_even(const int64_t *begins, size_t count)
{
    size_t intervals = count / 2, even = 0;
    int64_t *lengths = malloc(intervals * sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    begins += count - 1 - intervals;
    for (size_t i = 0; i < intervals; i++)
        lengths[i] = begins[i + 1] - begins[i];
    qsort(lengths, intervals, sizeof(*lengths), ws_ascending);
    int64_t median = lengths[intervals / 2];
    for (size_t i = 0; i < intervals; i++)
        even += lengths[i] >= median / 2 && lengths[i] / 2 <= median;
    free(lengths);
    return even * 10 >= intervals * EVEN_OF_TEN;
}

static bool hold_most_work(const struct ws_ops *ops, const struct ws_track *track, int64_t begin, int64_t end)
{
    size_t inside = 0;
    for (size_t i = 0; i < track->count; i++) {
        int64_t launched = ws_op_host_begin(ops, track->order[i]);
        inside += launched >= begin && launched < end;
    }
    return inside * 10 >= track->count * LAUNCHED_OF_TEN;
}

/* Makes the steps from the ranges in `repeated`, if these start at even intervals and the host launched at least half
 * of the device's operations while they ran. */
static int take(const struct ws_report *report, const struct ws_track *track, const uint64_t *names,
                const struct repeated *repeated, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    struct ws_vector begins = WS_VECTOR(int64_t);
    int status = collect_begins(process, names, repeated, &begins);
    const int64_t *list = begins.data;
    int even = status ? 0 : are_even(list, begins.count - 1);
    if (even < 0)
        status = even;
    if (even > 0 && hold_most_work(&process->ops, track, list[0], list[begins.count - 1]))
        status = ws_steps_between(report, track, list, begins.count, result);
    if (result->steps.count) {
        result->source = WS_STEPS_FOUND;
        result->proof = WS_PROOF_EVEN;
    }
    ws_vector_finish(&begins);
    return status;
}

int ws_even_steps(const struct ws_report *report, const struct ws_track *track, struct ws_track_steps *result)
{
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_thread_rows *threads = process->ranges.threads.data;
    struct ws_vector list = WS_VECTOR(struct repeated);
    uint64_t *names = process->ranges.rows.count ? read_names(process) : NULL;
    int status = names || !process->ranges.rows.count ? 0 : -ENOMEM;
    for (size_t i = 0; names && i < process->ranges.threads.count && !status; i++)
        status = add_thread(process, &threads[i], names, &list);
    const struct repeated *most = NULL, *at = list.data;
    for (size_t i = 0; i < list.count; i++)
        if (at[i].count >= LEAST_RANGES && (!most || at[i].lasted > most->lasted))
            most = &at[i];
    if (!status && most)
        status = take(report, track, names, most, result);
    ws_vector_finish(&list);
    free(names);
    return status;
}
