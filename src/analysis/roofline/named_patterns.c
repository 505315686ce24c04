#include "analysis/roofline/named_patterns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"

enum {
    WINDOW = 16, /* number of elements (kernels or passes) kept per stream; more than any pattern has */
    /* size of the array for the kept elements; more than WINDOW, so that the kept elements rarely must be moved to
     * the front of the array */
    PLACES = 64,
    LEAST_PERCENT = 1 /* percent of a step's or the recording's time; a fusion that saves less gets no advice */
};

/* Least number of occurrences per step, by kind of pattern. A sequence of kernels that occurs less often may match
 * the pattern by chance. For optimizers that update lists of parameters, one occurrence is enough: such an optimizer
 * runs once for each group of parameters, and no other work has so many passes over lists. */
static const uint64_t least[WS_NAMED_KIND_COUNT] = {
    [WS_NAMED_LAYER_NORM] = 2,     [WS_NAMED_RMS_NORM] = 2,          [WS_NAMED_ROPE] = 2,
    [WS_NAMED_LOOP_OPTIMIZER] = 2, [WS_NAMED_FOREACH_OPTIMIZER] = 1,
};

/* A kernel, or a pass over lists of tensors, which consists of several launches of a kernel (pattern_table.h). */
struct element {
    uint32_t name;
    size_t first, last; /* indices in ws_track.order of the element's first and last kernel */
    int64_t length, begin, end;
    bool counts; /* true: the element is in a steady step, or there are no steady steps */
};

/* The latest elements of a stream: `count` entries of the arrays `pieces` and `elements`, from index `first` on.
 * `pieces` holds the enum ws_piece (what a kernel computes) of each element. */
struct window {
    uint32_t first, count;
    uint32_t pieces[PLACES];
    struct element elements[PLACES];
};

struct named_search {
    const struct ws_process *process;
    const struct ws_track *track;
    uint32_t *pieces; /* enum ws_piece by index in ws_model.names; 0: not known yet */
    /* set of bits: key pieces (pattern_table.h) of all patterns that can occur in this process */
    uint32_t keys;
    struct window *windows; /* one per stream, by the stream's index; the last one is for unknown streams */
    bool has_optimizer;     /* the trace has ranges that PyTorch sets around optimizers */
    struct ws_track_named *result;
};

/* Two ranges around a launch: the range of the innermost operator, and the range of the optimizer. WS_NO_RANGE: the
 * trace has no such range. */
struct around {
    uint32_t operator, optimizer;
};

static bool begins_with(const struct named_search *search, uint32_t label, const char *begin)
{
    const struct ws_label *name = ws_entries_find(&search->process->labels, label);
    return name && name->text.length >= strlen(begin) && !memcmp(name->text.data, begin, strlen(begin));
}

static struct around ranges_around(const struct named_search *search, size_t place)
{
    const struct ws_ops *ops = &search->process->ops;
    const struct ws_ranges *ranges = &search->process->ranges;
    struct around around = { WS_NO_RANGE, WS_NO_RANGE };
    uint32_t op = search->track->order[place], thread = ws_op_thread(ops, op);
    if (!thread || !ranges->rows.count)
        return around;
    int64_t time = ws_op_host_begin(ops, op);
    for (uint32_t at = ws_ranges_at(ranges, thread, time); at != WS_NO_RANGE; at = ranges->parents[at]) {
        const struct ws_range *range = ws_range(ranges, at);
        /* this range does not enclose the launch: it ended earlier, although a range that began inside it is still
         * open */
        if (range->host_end < time)
            continue;
        if (range->kind == WS_RANGE_OPERATOR && around.operator== WS_NO_RANGE)
            around.operator= at;
        else if (search->has_optimizer && begins_with(search, range->name, WS_OPTIMIZER_RANGE))
            around.optimizer = at;
    }
    return around;
}

static uint32_t label_of(const struct named_search *search, uint32_t range)
{
    return range != WS_NO_RANGE ? ws_range(&search->process->ranges, range)->name : 0;
}

/* Do the ranges around the launch of the pattern's key piece (the kernel that is rarest in other work) allow this
 * pattern? */
static bool ranges_allow(const struct named_search *search, const struct ws_pattern *pattern, struct around around)
{
    bool optimizes = pattern->kind == WS_NAMED_LOOP_OPTIMIZER || pattern->kind == WS_NAMED_FOREACH_OPTIMIZER;
    if (around.operator!= WS_NO_RANGE && !begins_with(search, label_of(search, around.operator), pattern->operator))
        return false;
    if (around.optimizer != WS_NO_RANGE && !optimizes)
        return false;
    return !pattern->range || begins_with(search, label_of(search, around.optimizer), pattern->range);
}

static const struct element *named_key(const struct ws_pattern *pattern, const struct window *window, uint32_t length)
{
    uint32_t i = window->first, last = window->first + length - 1;
    while (i < last && !(window->pieces[i] & pattern->key))
        i++;
    return &window->elements[i];
}

/* Marks all kernels of an element as members of a pattern. Checks the stream of each kernel, because ws_track.order
 * may have kernels of other streams between the kernels of a pass. */
static void mark_members(const struct named_search *search, const struct element *element, enum ws_named_kind kind)
{
    const uint32_t *shapes = search->process->ops.shape, *order = search->track->order;
    uint32_t stream = ws_process_shape(search->process, shapes[order[element->first]])->stream;
    for (size_t place = element->first; place <= element->last; place++) {
        const struct ws_op_shape *shape = ws_process_shape(search->process, shapes[order[place]]);
        if (shape->name == element->name && shape->stream == stream)
            search->result->members[place] = (uint8_t)(1 + kind);
    }
}

/* Counts the first `length` elements of the window as an occurrence of the pattern. */
static void named_add(struct named_search *search, const struct ws_pattern *pattern, const struct window *window,
                      uint32_t length, struct around around)
{
    struct ws_named *named = &search->result->kinds[pattern->kind];
    const struct element *elements = &window->elements[window->first];
    int64_t total = 0, longest = 0, gap = 0;
    for (uint32_t i = 0; i < length; i++) {
        mark_members(search, &elements[i], pattern->kind);
        total = ws_sum(total, elements[i].length);
        longest = ws_max(longest, elements[i].length);
        if (i)
            gap = ws_sum(gap, ws_max(elements[i].begin - elements[i - 1].end, 0));
    }
    if (!elements[0].counts)
        return;
    double fused = pattern->still * (double)longest;
    if (!named->count++) {
        named->example = search->track->order[named_key(pattern, window, length)->first];
        named->range = label_of(search, around.optimizer);
    }
    named->pieces += length;
    if (!named->operator)
        named->operator= label_of(search, around.operator);
    named->confirmed += around.operator!= WS_NO_RANGE;
    named->total = ws_sum(named->total, total);
    named->fused = ws_sum(named->fused, fused < (double)total ? (int64_t)fused : total);
    named->gap = ws_sum(named->gap, gap);
}

/* Looks for a pattern at the start of the window. Returns the number of elements to remove from the window. A
 * recording may have millions of kernels, and the window mostly has no key piece. In this usual case, the function
 * takes only a few ns. */
static uint32_t named_take(struct named_search *search, const struct window *window)
{
    const uint32_t *pieces = &window->pieces[window->first];
    const struct ws_pattern *pattern;
    uint32_t present = 0, length, at = 0;
    for (uint32_t i = 0; i < window->count; i++)
        present |= pieces[i];
    if (!(present & search->keys))
        return 1;
    while ((pattern = ws_pattern_find(pieces, window->count, &at, &length))) {
        if (pattern->range && !search->has_optimizer)
            continue;
        struct around around = ranges_around(search, named_key(pattern, window, length)->first);
        if (!ranges_allow(search, pattern, around))
            continue;
        named_add(search, pattern, window, length, around);
        return length;
    }
    return 1;
}

/* Searches for patterns and removes elements until at most `remaining` are left in the window. */
static void empty_window(struct named_search *search, struct window *window, uint32_t remaining)
{
    while (window->count > remaining) {
        uint32_t taken = named_take(search, window);
        window->count -= taken;
        window->first = window->count ? window->first + taken : 0;
    }
}

/* Makes room for one more element in the window, and returns a pointer to the new element. */
static struct element *make_place(struct named_search *search, struct window *window, uint32_t piece)
{
    empty_window(search, window, WINDOW - 1);
    if (window->first + window->count == PLACES) {
        memmove(window->elements, window->elements + window->first, window->count * sizeof(*window->elements));
        memmove(window->pieces, window->pieces + window->first, window->count * sizeof(*window->pieces));
        window->first = 0;
    }
    uint32_t place = window->first + window->count++;
    window->pieces[place] = piece;
    return &window->elements[place];
}

static void add_kernel(struct named_search *search, size_t place, bool counts)
{
    const struct ws_ops *ops = &search->process->ops;
    uint32_t op = search->track->order[place];
    const struct ws_op_shape *shape = ws_process_shape(search->process, ops->shape[op]);
    uint32_t piece = search->pieces[shape->name];
    size_t streams = search->process->streams.rows.count;
    struct window *window = &search->windows[shape->stream != WS_NOWHERE ? shape->stream : streams];
    struct element *last = window->count ? &window->elements[window->first + window->count - 1] : NULL;
    if (piece == WS_PIECE_IGNORED)
        return;
    if (piece == WS_PIECE_OTHER) {
        empty_window(search, window, 0);
        return;
    }
    if (last && (piece & WS_PIECE_LIST_PASS) && last->name == shape->name) {
        last->length = ws_sum(last->length, ws_op_length(ops, op));
        last->end = ws_op_end(ops, op);
        last->last = place;
        return;
    }
    *make_place(search, window, piece) = (struct element){ .name = shape->name,
                                                           .first = place,
                                                           .last = place,
                                                           .length = ws_op_length(ops, op),
                                                           .begin = ws_op_begin(ops, op),
                                                           .end = ws_op_end(ops, op),
                                                           .counts = counts };
}

static bool has_optimizer_range(const struct named_search *search)
{
    const struct ws_label *labels = search->process->labels.rows.data;
    for (size_t i = 0; i < search->process->labels.rows.count; i++)
        if (begins_with(search, labels[i].id, WS_OPTIMIZER_RANGE))
            return true;
    return false;
}

/* Sets the piece (enum ws_piece) of each kernel name in search->pieces. Returns whether the device may run any
 * pattern. */
static bool find_pieces(struct named_search *search, const struct ws_report *report, size_t subject)
{
    bool any = false;
    for (size_t i = 0; i < search->process->shapes.count; i++) {
        const struct ws_op_shape *shape = ws_process_shape(search->process, i);
        if (shape->track != subject || search->pieces[shape->name])
            continue;
        search->pieces[shape->name] = ws_piece_of(ws_model_name(report->model, shape->name));
        any = any || (search->pieces[shape->name] & search->keys);
    }
    return any;
}

static void named_judge(const struct ws_report *report, size_t subject, struct ws_track_named *result)
{
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, subject);
    int64_t length = result->steps ? steps->mean : ws_activity_known(activity);
    for (int kind = 0; kind < WS_NAMED_KIND_COUNT; kind++) {
        struct ws_named *named = &result->kinds[kind];
        int64_t saving = ws_named_saving(result, (enum ws_named_kind)kind);
        named->counts = named->count && named->count >= least[kind] * (result->steps ? result->steps : 1);
        named->is_advised = named->counts && saving > 0 && saving >= length / 100 * LEAST_PERCENT;
    }
}

/* Searches all operations of the device for patterns. `windows` has an empty window for each stream. */
static void search_all(struct named_search *search, const struct ws_track_steps *steps, struct window *windows,
                       size_t count)
{
    struct ws_steady_walk walk = ws_steady_walk(steps);
    search->windows = windows;
    for (size_t i = 0; i < search->track->count; i++) {
        int64_t begin = ws_op_begin(&search->process->ops, search->track->order[i]);
        add_kernel(search, i, !search->result->steps || ws_steady_at(&walk, begin));
    }
    for (size_t i = 0; i < count; i++)
        empty_window(search, &windows[i], 0);
}

static int named_run(const struct ws_report *report, size_t subject, void *memory)
{
    struct ws_track_named *result = memory;
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct named_search search = { .track = ws_model_track(report->model, subject), .result = result };
    search.process = ws_model_process(report->model, search.track->process);
    search.has_optimizer = has_optimizer_range(&search);
    search.keys = ws_pattern_keys(search.has_optimizer);
    uint32_t *pieces = search.pieces = calloc(report->model->names.count + 1, sizeof(*pieces));
    result->steps = steps->kinds[WS_STEP_STEADY];
    int status = pieces ? 0 : -ENOMEM;
    if (pieces && find_pieces(&search, report, subject)) {
        size_t count = search.process->streams.rows.count + 1;
        struct window *windows = calloc(count, sizeof(*windows));
        result->members = calloc(search.track->count + 1, sizeof(*result->members));
        status = windows && result->members ? 0 : -ENOMEM;
        if (!status)
            search_all(&search, steps, windows, count);
        free(windows);
    }
    named_judge(report, subject, result);
    free(pieces);
    return status;
}

static void named_finish(void *memory)
{
    struct ws_track_named *result = memory;
    free(result->members);
}

const struct ws_analysis ws_analysis_named = {
    .name = "named",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_named),
    .needs = { &ws_analysis_steps, &ws_analysis_activity },
    .run = named_run,
    .finish = named_finish,
    .advise = ws_named_advise,
    .json = ws_named_json,
};
