#include "analysis/gaps/code_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"
#include "model/own_code.h"

static void add_time(struct ws_code_time *to, const struct ws_code_time *time)
{
    to->host = ws_sum(to->host, time->host);
    to->device = ws_sum(to->device, time->device);
    to->idle = ws_sum(to->idle, time->idle);
    to->stacks += time->stacks;
}

/* --- from stacks -------------------------------------------------------------------------------------- */

static struct ws_code_function *function_at(struct ws_code_tree *tree, uint32_t index)
{
    return (struct ws_code_function *)tree->functions.data + index;
}

/* Finds the function of `code` among the functions that `parent` calls, or adds it to them. Returns the function's
 * index + 1; 0: memory ran out. */
static uint32_t function_below(struct ws_code_tree *tree, struct ws_map *known, uint32_t parent,
                               const struct ws_code *code)
{
    static const struct ws_text lost = { "?", 1 };
    struct ws_code_function made = { .parent = parent,
                                     .name = code ? code->name : lost,
                                     .file = code ? code->file : lost };
    const uint64_t key[] = { parent, ws_salted_key(made.name.data, made.name.length),
                             ws_salted_key(made.file.data, made.file.length), code ? code->first_line : 0 };
    uint64_t *index = ws_map_put(known, ws_salted_key(key, sizeof(key)));
    if (index && !*index) {
        struct ws_code_function *function = ws_vector_push(&tree->functions);
        if (!function)
            return 0;
        *function = made;
        function->depth = parent == WS_NO_PARENT ? 0 : function_at(tree, parent)->depth + 1;
        function->line = code ? code->first_line : 0;
        *index = tree->functions.count;
    }
    return index ? (uint32_t)*index : 0;
}

/* Marks in `used` each frame that has time, and all its callers. The loop goes backwards, because a caller has a
 * lower index than the frame that it called. */
static void find_used(const struct ws_stacks *stacks, const struct ws_code_time *times, bool *used)
{
    for (uint32_t i = (uint32_t)stacks->frames.rows.count; i-- > 0;) {
        used[i] |= times[i].stacks || times[i].idle;
        uint32_t caller = ws_stacks_caller(stacks, i);
        if (used[i] && caller != WS_NO_FRAME)
            used[caller] = true;
    }
}

/* Adds the time of each frame that find_used marked to a function of the tree. The time of a library's frame counts
 * for the program's function that called it. A caller has a lower index than the frame that it called, so the caller
 * is added first. */
static int add_frames(struct ws_code_tree *tree, const struct ws_stacks *stacks, const struct ws_code_time *times)
{
    uint32_t count = (uint32_t)stacks->frames.rows.count;
    /* by frame: index of the frame's function in the tree, + 1 */
    uint32_t *functions = calloc(count + (size_t)1, sizeof(*functions));
    /* by frame: is the frame, or one of its callers, code of the program (not of a library)? */
    bool *in_own = calloc(count + (size_t)1, 1);
    bool *used = calloc(count + (size_t)1, 1);
    struct ws_map known = { 0 };
    int status = functions && in_own && used ? 0 : -ENOMEM;
    if (!status)
        find_used(stacks, times, used);
    for (uint32_t i = 0; i < count && !status; i++) {
        const struct ws_code *code = ws_stacks_code(stacks, i);
        uint32_t caller = ws_stacks_caller(stacks, i),
                 parent = caller != WS_NO_FRAME ? functions[caller] - 1 : WS_NO_PARENT;
        bool own = ws_stacks_is_own(stacks, i);
        in_own[i] = own || (caller != WS_NO_FRAME && in_own[caller]);
        bool too_deep = parent != WS_NO_PARENT && function_at(tree, parent)->depth == WS_RANGES_DEEPEST;
        if (!used[i])
            continue;
        functions[i] =
            (!own && in_own[i]) || too_deep ? functions[caller] : function_below(tree, &known, parent, code);
        if (!functions[i])
            status = -ENOMEM;
        else
            add_time(&function_at(tree, functions[i] - 1)->own, &times[i]);
    }
    ws_map_finish(&known);
    free(functions);
    free(in_own);
    free(used);
    return status;
}

static int from_stacks(const struct ws_report *report, size_t subject, struct ws_code_tree *tree)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    size_t frames = process->stacks.frames.rows.count;
    struct ws_code_time *times = calloc(frames + 1, sizeof(*times));
    int status = times ? ws_code_host_times(process, times) : -ENOMEM;
    if (!status)
        status = ws_code_device_times(process, track, times);
    if (!status) {
        ws_code_idle_times(process, ws_report_result(report, &ws_analysis_causes, subject), times);
        status = add_frames(tree, &process->stacks, times);
        tree->without = times[frames];
        tree->from_stacks = true;
    }
    free(times);
    return status;
}

/* --- from ranges -------------------------------------------------------------------------------------- */

/* Splits "PATH(LINE): FUNCTION", the label of a Python function in traces of PyTorch. */
static bool split_label(const char *label, struct ws_code_function *function)
{
    const char *end = strstr(label, "): "), *open = end;
    while (open && open > label && *open != '(')
        open--;
    if (!end || *open != '(' || open == label)
        return false;
    function->file = (struct ws_text){ label, (uint32_t)(open - label) };
    function->line = (uint32_t)strtoul(open + 1, NULL, 10);
    function->name = (struct ws_text){ end + 3, (uint32_t)strlen(end + 3) };
    return true;
}

static size_t name_of_function(const char **name)
{
    struct ws_code_function function;
    return split_label(*name, &function) && ws_is_own_file(function.file.data, function.file.length) ? strlen(*name)
                                                                                                     : 0;
}

static struct ws_code_time time_of_row(const struct ws_range_work *work, int64_t host)
{
    return (struct ws_code_time){ .host = host, .device = work->all.sum, .idle = work->all.idle };
}

/* Finds the function with this label among the functions that `parent` calls, or adds it to them. Some traces have a
 * range for the source line of each operator, and operators are nested. So a range can have the same label as the
 * range around it. The time of the inner range then counts for the function of the outer range. Returns the
 * function's index + 1; 0: memory ran out. */
static uint32_t function_of_row(struct ws_code_tree *tree, struct ws_map *known, uint32_t parent, const char *label)
{
    struct ws_code_function made = { .parent = parent };
    split_label(label, &made);
    if (parent != WS_NO_PARENT &&
        /* file.data points to the start of the parent's whole label, so this compares the two labels */
        !strcmp(function_at(tree, parent)->file.data, label))
        return parent + 1;
    const uint64_t key[] = { parent, ws_salted_key(label, strlen(label)) };
    uint64_t *index = ws_map_put(known, ws_salted_key(key, sizeof(key)));
    if (index && !*index && ws_vector_push(&tree->functions)) {
        *index = tree->functions.count;
        *function_at(tree, (uint32_t)*index - 1) = made;
    }
    return index ? (uint32_t)*index : 0;
}

static int add_rows(struct ws_code_tree *tree, const struct ws_process *process, const struct ws_track_ranges *sums)
{
    const struct ws_label *labels = process->labels.rows.data;
    const struct ws_range_row *rows = sums->rows.data;
    /* by row of `sums` (a function below one path of callers): index of this function in the tree, + 1 */
    uint32_t *functions = malloc((sums->rows.count + 1) * sizeof(*functions));
    struct ws_map known = { 0 };
    int status = functions ? 0 : -ENOMEM;
    for (size_t i = 0; i < sums->rows.count && !status; i++) {
        uint32_t parent = rows[i].parent == WS_NO_RANGE ? WS_NO_PARENT : functions[rows[i].parent] - 1;
        struct ws_code_time time = time_of_row(&rows[i].own, rows[i].all.own);
        functions[i] = function_of_row(tree, &known, parent, labels[rows[i].label].text.data);
        if (functions[i])
            add_time(&function_at(tree, functions[i] - 1)->own, &time);
        else
            status = -ENOMEM;
    }
    ws_map_finish(&known);
    free(functions);
    return status;
}

static int from_ranges(const struct ws_report *report, size_t subject, struct ws_code_tree *tree)
{
    static const struct ws_range_grouping grouping = {
        .kind = WS_RANGE_PYTHON, .also = WS_RANGE_PYTHON, .tree = true, .name = name_of_function
    };
    struct ws_track_ranges sums = { 0 };
    int status = ws_ranges_sum(report, subject, &grouping, &sums);
    const struct ws_range_outside *outside = sums.outside.data;
    if (!status)
        status =
            add_rows(tree, ws_model_process(report->model, ws_model_track(report->model, subject)->process), &sums);
    for (size_t i = 0; i < sums.outside.count && !status; i++) {
        struct ws_code_time time = time_of_row(&outside[i].work, 0);
        add_time(&tree->without, &time);
    }
    ws_ranges_finish_sums(&sums);
    return status;
}

/* --- the tree ----------------------------------------------------------------------------------------- */

static void sum_up(struct ws_code_tree *tree)
{
    struct ws_code_function *functions = tree->functions.data;
    for (size_t i = tree->functions.count; i-- > 0;) {
        add_time(&functions[i].whole, &functions[i].own);
        if (functions[i].parent < i)
            add_time(&functions[functions[i].parent].whole, &functions[i].whole);
    }
}

/* Functions are sorted by this time: the time of the operations that a function launched, plus the idle time of the
 * device that the function caused. */
static int64_t weight(const struct ws_code_function *function)
{
    return ws_sum(function->whole.device, function->whole.idle);
}

static int heaviest_first(const void *a, const void *b)
{
    const struct ws_code_function *x = *(const struct ws_code_function *const *)a,
                                  *y = *(const struct ws_code_function *const *)b;
    if (weight(x) != weight(y))
        return weight(x) < weight(y) ? 1 : -1;
    if (x->whole.host != y->whole.host)
        return x->whole.host < y->whole.host ? 1 : -1;
    return (x > y) - (x < y);
}

static int put_in_order(struct ws_code_tree *tree)
{
    const struct ws_code_function *functions = tree->functions.data;
    uint32_t count = (uint32_t)tree->functions.count;
    const struct ws_code_function **order = malloc((count + 1) * sizeof(const struct ws_code_function *));
    uint32_t *parents = malloc((count + 1) * sizeof(*parents)), *largest = malloc((count + 1) * sizeof(*largest));
    tree->shown = malloc((count + 1) * sizeof(*tree->shown));
    int status = order && parents && largest && tree->shown ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && !status; i++) {
        order[i] = &functions[i];
        parents[i] = functions[i].parent;
    }
    if (!status) {
        qsort(order, count, sizeof(const struct ws_code_function *), heaviest_first);
        for (uint32_t i = 0; i < count; i++)
            largest[i] = (uint32_t)(order[i] - functions);
        status = ws_tree_order(parents, largest, count, tree->shown);
    }
    free(order);
    free(parents);
    free(largest);
    return status;
}

static int code_tree_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process =
        ws_model_process(report->model, ws_model_track(report->model, subject)->process);
    struct ws_code_tree *tree = memory;
    tree->functions = WS_VECTOR(struct ws_code_function);
    int status = process->stacks.rows.count   ? from_stacks(report, subject, tree)
                 : process->ranges.rows.count ? from_ranges(report, subject, tree)
                                              : 0;
    sum_up(tree);
    return status ? status : put_in_order(tree);
}

static void code_tree_finish(void *memory)
{
    struct ws_code_tree *tree = memory;
    ws_vector_finish(&tree->functions);
    free(tree->shown);
}

static bool code_tree_has_section(const void *memory)
{
    return ((const struct ws_code_tree *)memory)->functions.count > 0;
}

const struct ws_analysis ws_analysis_code_tree = {
    .name = "tree",
    .title = "Functions of the program",
    .host_times = true,
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_code_tree),
    .needs = { &ws_analysis_activity, &ws_analysis_steps, &ws_analysis_causes },
    .run = code_tree_run,
    .finish = code_tree_finish,
    .has_section = code_tree_has_section,
    .text = ws_code_tree_text,
    .json = ws_code_tree_json,
};
