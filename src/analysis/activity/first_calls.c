#include "analysis/activity/first_calls.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/host_time.h"
#include "analysis/activity/overview.h"
#include "base/minmax.h"

/* Limits of the search for first calls; times in ns. first_calls.h explains them. */
enum {
    CALL_LEAST = 20000,
    CONTEXT_LEAST = 5000000,
    LATER_SHARE = 10, /* a later launch of a kernel is slow if its call takes more than 1/10 of the time of the
                         kernel's first launch call */
    /* first launches count as module loads only if the share of long launches among them is more than RARER times as
     * high as among later launches */
    RARER = 5,
    /* if fewer than LONG_LEAST first launches are long, no launch counts as a module load: the launches may be long
     * only because the operating system stopped the thread */
    LONG_LEAST = 3,
};

/* A host call, or a range (a marked period of a thread), that did something for the first time. Times are in ns on
 * the host clock. */
struct first_call {
    int64_t begin, end;
    enum ws_first_kind kind;
};

struct first_finder {
    const struct ws_process *process;
    const struct ws_host_time *time;
    struct ws_process_first_calls *result;
    struct ws_vector calls; /* elements: struct first_call */
    int64_t first_op;       /* host time at which the first operation was launched, ns */
};

const char *ws_first_kind_key(enum ws_first_kind kind)
{
#define WS_FIRST_KIND(name, key, text) key,
    static const char *const keys[] = { WS_FIRST_KINDS(WS_FIRST_KIND) };
#undef WS_FIRST_KIND
    return keys[kind];
}

const char *ws_first_kind_text(enum ws_first_kind kind)
{
#define WS_FIRST_KIND(name, key, text) text,
    static const char *const texts[] = { WS_FIRST_KINDS(WS_FIRST_KIND) };
#undef WS_FIRST_KIND
    return texts[kind];
}

/* Names of functions that create contexts, load modules, create handles of libraries, or choose algorithms. All calls
 * of these functions count as first calls. Ranges (marked periods of a thread) around calls of these functions have
 * the same names. Only a suffix such as "_v2" or "(" may follow the word in a name: "cudnnCreate" does not match
 * "cudnnCreateTensorDescriptor". After a word that ends with *, anything may follow. */
static const struct {
    const char *word;
    enum ws_first_kind kind;
} first_words[] = {
    { "cuInit", WS_FIRST_CONTEXT },
    { "hipInit", WS_FIRST_CONTEXT },
    { "cuCtxCreate", WS_FIRST_CONTEXT },
    { "cuDevicePrimaryCtxRetain", WS_FIRST_CONTEXT },
    { "cuModuleLoad*", WS_FIRST_MODULE },
    { "cuLibraryLoad*", WS_FIRST_MODULE },
    { "cuLibraryGet*", WS_FIRST_MODULE },
    { "cuModuleGetFunction", WS_FIRST_MODULE },
    { "cuKernelGetFunction", WS_FIRST_MODULE },
    { "cuLink*", WS_FIRST_MODULE },
    { "cudaLibraryLoad*", WS_FIRST_MODULE },
    { "cudaLibraryGet*", WS_FIRST_MODULE },
    { "hipModuleLoad*", WS_FIRST_MODULE },
    { "cublasCreate", WS_FIRST_HANDLE },
    { "cublasLtCreate", WS_FIRST_HANDLE },
    { "cudnnCreate", WS_FIRST_HANDLE },
    { "cusolverDnCreate", WS_FIRST_HANDLE },
    { "cusparseCreate", WS_FIRST_HANDLE },
    { "cufftPlan*", WS_FIRST_HANDLE },
    { "curandCreateGenerator", WS_FIRST_HANDLE },
    { "ncclCommInit*", WS_FIRST_HANDLE },
    { "cudnnFind*", WS_FIRST_COMPILE }, /* tries out convolution algorithms, as an autotuner does */
};

static bool first_calls_named(const char *name, enum ws_first_kind *kind)
{
    for (size_t i = 0; i < sizeof(first_words) / sizeof(first_words[0]); i++) {
        const char *word = first_words[i].word;
        size_t length = strcspn(word, "*");
        if (strncmp(name, word, length) != 0 || (!word[length] && isalnum((unsigned char)name[length])))
            continue;
        *kind = first_words[i].kind;
        return true;
    }
    return false;
}

/* Does the range with this name mark the run of a compiler? Names of Python frames look like
 * "torch/_dynamo/convert_frame.py(672): _compile". */
static bool first_calls_compiles(const char *name)
{
    static const struct {
        const char *file, *function;
    } frames[] = {
        { "torch/_dynamo/convert_frame.py(", "): _compile" },
        { "torch/_inductor/compile_fx.py(", "): compile_fx" },
        { "triton/compiler/compiler.py(", "): compile" },
    };
    static const char timed[] = " (dynamo_timed)";
    size_t length = strlen(name);
    if (length >= sizeof(timed) && !strcmp(name + length - (sizeof(timed) - 1), timed))
        return true;
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        const char *function = strstr(name, frames[i].file) ? strstr(name, frames[i].function) : NULL;
        if (function && !isalnum((unsigned char)function[strlen(frames[i].function)]))
            return true;
    }
    return false;
}

static int first_calls_put(struct first_finder *finder, enum ws_first_kind kind, int64_t begin, int64_t end)
{
    if (end <= begin || (uint64_t)end - (uint64_t)begin < CALL_LEAST)
        return 0;
    struct first_call *call = ws_vector_push(&finder->calls);
    if (!call)
        return -ENOMEM;
    *call = (struct first_call){ begin, end, kind };
    return 0;
}

/* The kinds of first calls that the calls of a driver function may be. `is_named`: the function's name is in
 * first_words, and `kind` is the kind that first_words gives; otherwise `kind` is not valid. `may_make_context`: the
 * function needs a context, so a call of it may create one. */
struct first_use {
    bool is_named, may_make_context, allocates;
    enum ws_first_kind kind;
};

static struct first_use first_calls_use_of(const struct ws_driver_function *function)
{
    const char *name = function->name.data;
    struct first_use use = { .may_make_context = strstr(name, "SetDevice") || strstr(name, "InitDevice") };
    use.is_named = first_calls_named(name, &use.kind);
    if (function->family == WS_CALL_MEMORY) {
        use.may_make_context = true;
        use.allocates = strstr(name, "Alloc") || strstr(name, "alloc") || strstr(name, "MemCreate") ||
                        strstr(name, "MemMap") || strstr(name, "HostRegister");
    }
    return use;
}

static int first_calls_of_functions(struct first_finder *finder)
{
    const struct ws_entries *functions = &finder->process->driver_functions;
    const struct ws_driver_function *rows = functions->rows.data;
    const struct ws_call *calls = finder->process->calls.data;
    struct first_use *uses = calloc(functions->rows.count + 1, sizeof(*uses));
    int status = uses ? 0 : -ENOMEM;
    for (size_t i = 0; i < functions->rows.count && !status; i++)
        uses[i] = first_calls_use_of(&rows[i]);
    for (size_t i = 0; i < finder->process->calls.count && !status; i++) {
        uint32_t place = ws_entries_place(functions, calls[i].function);
        if (place == UINT32_MAX)
            continue;
        const struct first_use *use = &uses[place];
        int64_t begin = calls[i].host_begin, end = calls[i].host_end;
        bool makes_context = use->may_make_context && end <= finder->first_op && end - begin >= CONTEXT_LEAST;
        if (use->is_named) {
            status = first_calls_put(finder, use->kind, begin, end);
        } else if (makes_context) {
            finder->result->is_inferred[WS_FIRST_CONTEXT] = true;
            status = first_calls_put(finder, WS_FIRST_CONTEXT, begin, end);
        } else if (use->allocates) {
            status = first_calls_put(finder, WS_FIRST_ALLOCATION, begin, end);
        }
    }
    free(uses);
    return status;
}

/* Returns an array indexed like ws_process.labels (the texts of the ranges' names): enum ws_first_kind + 1 if the
 * text names a first call, else 0. */
static uint8_t *first_calls_labels(const struct ws_process *process)
{
    const struct ws_label *labels = process->labels.rows.data;
    uint8_t *kinds = calloc(process->labels.rows.count + 1, 1);
    for (size_t i = 0; kinds && i < process->labels.rows.count; i++) {
        enum ws_first_kind kind = WS_FIRST_COMPILE;
        if (first_calls_named(labels[i].text.data, &kind) || first_calls_compiles(labels[i].text.data))
            kinds[i] = (uint8_t)(kind + 1);
    }
    return kinds;
}

static int first_calls_of_ranges(struct first_finder *finder)
{
    const struct ws_process *process = finder->process;
    const struct ws_range *ranges = process->ranges.rows.data;
    uint8_t *kinds = first_calls_labels(process);
    int status = kinds ? 0 : -ENOMEM;
    for (size_t i = 0; i < process->ranges.rows.count && !status; i++) {
        uint32_t label = ws_entries_place(&process->labels, ranges[i].name);
        if (label != UINT32_MAX && kinds[label])
            status = first_calls_put(finder, (enum ws_first_kind)(kinds[label] - 1), ranges[i].host_begin,
                                     ranges[i].host_end);
    }
    free(kinds);
    return status;
}

/* How long the launch calls of a kernel took. */
struct first_kernel {
    int64_t first;        /* ns of the first launch call, if more than WS_LAUNCH_MOST; else 0 */
    uint32_t later, slow; /* number of later launches, and how many of them took more than `first` / LATER_SHARE */
};

/* Number of first and of later launches of kernels, and how many of each took more than WS_LAUNCH_MOST. */
struct first_counts {
    uint64_t first, first_long, later, later_long;
};

static bool first_calls_is_launch(const struct first_finder *finder, size_t op)
{
    const struct ws_op_shape *shape = ws_process_shape(finder->process, finder->process->ops.shape[op]);
    return shape->row.kind == WS_OP_KERNEL && ws_op_has_call(&finder->process->ops, op) &&
           !(finder->process->ops.flags[op] & WS_OP_BLOCKING);
}

static void first_calls_count(const struct first_finder *finder, struct first_kernel *kernels,
                              struct first_counts *counts)
{
    const struct ws_ops *ops = &finder->process->ops;
    for (size_t i = 0; i < ops->count; i++) {
        if (!first_calls_is_launch(finder, i))
            continue;
        uint32_t name = ws_process_shape(finder->process, ops->shape[i])->name;
        int64_t length = ws_op_host_length(ops, i);
        if (finder->time->firsts[name] == i) {
            counts->first++;
            counts->first_long += kernels[name].first > 0;
            continue;
        }
        counts->later++;
        counts->later_long += length > WS_LAUNCH_MOST;
        kernels[name].later++;
        kernels[name].slow += length > kernels[name].first / LATER_SHARE;
    }
}

/* Returns the length of the operation's launch call in ns if the call took more than WS_LAUNCH_MOST, else 0. Returns
 * 0 for kernels of a graph too, because their call launched the whole graph. */
static int64_t first_calls_long_launch(const struct first_finder *finder, uint32_t op)
{
    const struct ws_process *process = finder->process;
    if (op == UINT32_MAX || !first_calls_is_launch(finder, op) ||
        ws_launches_graph(process, ws_process_shape(process, process->ops.shape[op])->row.driver_function))
        return 0;
    int64_t length = ws_op_host_length(&process->ops, op);
    return length > WS_LAUNCH_MOST ? length : 0;
}

static int first_calls_of_launches(struct first_finder *finder, const struct ws_model *model)
{
    const struct ws_ops *ops = &finder->process->ops;
    const uint32_t *firsts = finder->time->firsts;
    struct first_counts counts = { 0 };
    struct first_kernel *kernels = calloc(model->names.count + 1, sizeof(*kernels));
    if (!kernels)
        return -ENOMEM;
    for (size_t i = 0; i < model->names.count; i++)
        kernels[i].first = first_calls_long_launch(finder, firsts[i]);
    first_calls_count(finder, kernels, &counts);
    int status = 0;
    bool stand_out =
        (double)counts.first_long * (double)counts.later > RARER * (double)counts.later_long * (double)counts.first;
    bool count_any = counts.first_long >= LONG_LEAST && (stand_out || !counts.later);
    for (size_t i = 0; i < model->names.count && !status && count_any; i++) {
        if (!kernels[i].first || 2 * (uint64_t)kernels[i].slow > kernels[i].later)
            continue;
        finder->result->is_inferred[WS_FIRST_LAUNCH] = true;
        int64_t begin = ws_op_host_begin(ops, firsts[i]);
        status = first_calls_put(finder, WS_FIRST_LAUNCH, begin, ws_op_host_end(ops, firsts[i]));
    }
    free(kernels);
    return status;
}

static int first_calls_by_begin(const void *a, const void *b)
{
    const struct first_call *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Sorts the calls by their start, and adds each to the interval set of its kind. Adding intervals to a set is fastest
 * in order of their start. */
static int first_calls_sort(struct first_finder *finder)
{
    const struct first_call *calls = finder->calls.data;
    struct ws_process_first_calls *result = finder->result;
    int status = 0;
    if (finder->calls.count)
        qsort(finder->calls.data, finder->calls.count, sizeof(*calls), first_calls_by_begin);
    for (size_t i = 0; i < finder->calls.count && !status; i++) {
        status = ws_interval_set_add(&result->of[calls[i].kind], calls[i].begin, calls[i].end);
        result->begin = ws_min(result->begin, calls[i].begin);
        result->end = ws_max(result->end, calls[i].end);
    }
    return status;
}

static int first_calls_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_process_overview *overview = ws_report_result(report, &ws_analysis_overview, subject);
    struct ws_process_first_calls *result = memory;
    struct first_finder finder = { .process = process,
                                   .time = ws_report_result(report, &ws_analysis_host_time, subject),
                                   .result = result,
                                   .calls = WS_VECTOR(struct first_call),
                                   .first_op = INT64_MAX };
    result->begin = overview->first;
    result->end = overview->last;
    result->is_inferred[WS_FIRST_ALLOCATION] = true;
    for (size_t i = 0; i < process->ops.count; i++)
        finder.first_op = ws_min(finder.first_op, ws_op_host_begin(&process->ops, i));
    int status = first_calls_of_functions(&finder);
    if (!status)
        status = first_calls_of_ranges(&finder);
    if (!status)
        status = first_calls_of_launches(&finder, report->model);
    if (!status)
        status = first_calls_sort(&finder);
    ws_vector_finish(&finder.calls);
    return status;
}

static void first_calls_finish(void *memory)
{
    struct ws_process_first_calls *result = memory;
    for (int kind = 0; kind < WS_FIRST_COUNT; kind++)
        ws_interval_set_finish(&result->of[kind]);
}

const struct ws_analysis ws_analysis_first_calls = {
    .name = "first_calls",
    .scope = WS_SCOPE_PROCESS,
    .result_size = sizeof(struct ws_process_first_calls),
    .needs = { &ws_analysis_host_time, &ws_analysis_overview },
    .run = first_calls_run,
    .finish = first_calls_finish,
};
