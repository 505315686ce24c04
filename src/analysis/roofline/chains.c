#include "analysis/roofline/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cost/arguments.h"
#include "analysis/cost/chain_kernel.h"
#include "analysis/kernels/classify.h"
#include "analysis/memory/memory.h"
#include "analysis/roofline/chain_figures.h"
#include "analysis/roofline/named_patterns.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/steps.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/salted.h"
#include "report/peaks.h"

enum {
    PAUSE_NS = 1000000, /* ns; a longer pause between two kernels ends a chain */
    /* at most this many patterns are stored; ws_track_chains.left_out counts the occurrences of all other patterns */
    MOST_CHAINS = 65536,
    MOST_EXAMINED = 64, /* the parameters of at most this many occurrences of a pattern are compared */
    MOST_EXAMINED_IN_ALL = 16384,
};

/* The unfinished chain of a stream. */
struct run {
    uint32_t length;
    uint32_t ops[WS_CHAIN_MOST];
    struct ws_op_moved moved[WS_CHAIN_MOST]; /* bytes that each kernel moves, from the roofline analysis */
    int64_t end;                             /* end of the chain's last kernel so far; ns, host clock */
    /* the step in which the chain's kernels ran; NULL: they ran in no step */
    const struct ws_step *step;
    /* true: all kernels of the chain belong to norms, rotary embeddings or optimizers that get their own advice
     * (named_patterns.h); false: none of the kernels does */
    bool is_named;
};

struct shape_facts {
    struct run *run; /* the unfinished chain of the shape's stream */
    bool is_graph;
    enum ws_chain_role role;
    /* tells how to read the parameters of kernels of this shape; NULL: these kernels belong to no chain */
    const struct ws_arguments_form *form;
    uint64_t bytes; /* bytes of one array that the kernel reads or writes, derived from the grid; 0: not known */
    bool reduces;   /* the kernel is a reduction, so its output is small */
};

struct finder {
    const struct ws_process *process;
    const struct ws_ops *ops;
    struct shape_facts *shapes;
    void *names;      /* memory that holds shape_facts.form of all shapes */
    struct run *runs; /* unfinished chains, one per stream of the track; the last one is for unknown streams */
    size_t run_count;
    const struct ws_track_steps *steps;
    size_t step;         /* state of ws_steps_next: index of a step in `steps` */
    struct ws_map index; /* maps the hash of a pattern's kernel names to the index + 1 of this pattern */
    uint32_t examined;
    const struct ws_op_moved
        *moved; /* bytes moved by each operation, by index in ws_track.order; NULL: not known for any operation */
    const struct ws_track_named *named;
    struct ws_track_chains *result;
};

static struct ws_chain *chain_at(const struct ws_track_chains *result, size_t index)
{
    return (struct ws_chain *)result->chains.data + index;
}

static struct ws_chain_kernel *kernels_of(const struct ws_track_chains *result, const struct ws_chain *chain)
{
    return (struct ws_chain_kernel *)result->kernels.data + chain->first;
}

static bool is_of(const struct ws_track_chains *result, const struct ws_chain *chain, const uint32_t *names,
                  uint32_t length)
{
    const struct ws_chain_kernel *kernels = ws_chain_kernels(result, chain);
    for (uint32_t i = 0; i < length && chain->length == length; i++)
        if (kernels[i].name != names[i])
            return false;
    return chain->length == length;
}

static int add_chain(struct ws_track_chains *result, const uint32_t *names, uint32_t length)
{
    size_t first = result->kernels.count;
    struct ws_chain *chain = ws_vector_push(&result->chains);
    if (!chain || ws_vector_reach(&result->kernels, first + length))
        return -ENOMEM;
    chain->first = (uint32_t)first;
    chain->length = length;
    for (uint32_t i = 0; i < length; i++)
        kernels_of(result, chain)[i].name = names[i];
    return 0;
}

/* Returns the index of the pattern that consists of these kernels. Adds this pattern if it is new. Returns -ENOSPC if
 * there are too many patterns, or -ENOMEM. */
static int find_chain(struct finder *finder, const uint32_t *names, uint32_t length)
{
    struct ws_track_chains *result = finder->result;
    for (uint64_t key = ws_hash_key(names, length * sizeof(*names));; key = ws_hash_next(key)) {
        uint64_t *place = ws_salted_put(&finder->index, key);
        if (!place)
            return finder->index.count >= finder->index.limit ? -ENOSPC : -ENOMEM;
        if (!*place) {
            if (add_chain(result, names, length))
                return -ENOMEM;
            *place = result->chains.count;
        }
        if (is_of(result, chain_at(result, *place - 1), names, length))
            return (int)(*place - 1);
    }
}

/* Returns the bytes moved because one kernel writes an array and the next kernel reads it: twice the size of the
 * array. If the bytes written and the bytes read are both known, the smaller number counts as the size. */
static uint64_t moved_again(uint64_t written, uint64_t read)
{
    return 2 * (written && (!read || written < read) ? written : read);
}

static void add_moved(struct ws_chain_bytes *bytes, uint64_t moved)
{
    bytes->moved += moved;
    bytes->moved_known += moved > 0;
}

static void add_again(struct ws_chain_bytes *bytes, uint64_t again, bool known)
{
    bytes->again += again;
    bytes->again_known += known;
}

/* Returns the sum of the bytes of all arrays that a kernel reads and writes, or 0 if the size of some array is not
 * known. */
static uint64_t moved_by(const struct ws_operands *operands)
{
    double moved = 0;
    for (uint32_t i = 0; i < operands->count; i++) {
        if (!(operands->bytes[i] > 0))
            return 0;
        moved += operands->bytes[i];
    }
    return moved < 1e18 ? (uint64_t)moved : 0;
}

/* Compares the addresses in the parameters of the kernels of `run`, an occurrence of the pattern `chain`. Does
 * nothing if the parameters of some of these kernels were not recorded. */
static void examine(struct finder *finder, const struct run *run, struct ws_chain *chain)
{
    struct ws_operands operands[WS_CHAIN_MOST];
    uint64_t bytes[WS_CHAIN_MOST] = { 0 };
    const struct ws_process *process = finder->process;
    int64_t lengths[WS_CHAIN_MOST];
    struct ws_chain_kernel *kernels = kernels_of(finder->result, chain);
    for (uint32_t i = 0; i < chain->length; i++) {
        uint32_t shape = finder->ops->shape[run->ops[i]];
        const struct ws_arguments_form *form = finder->shapes[shape].form;
        if (!form || !ws_arguments_operands(form, process, &ws_process_shape(process, shape)->row,
                                            ws_op_params(finder->ops, run->ops[i]), &operands[i]))
            return;
        bytes[i] = operands[i].elements * form->iterator.element_bytes;
        lengths[i] = ws_op_length(finder->ops, run->ops[i]);
    }
    struct ws_chain_links links = ws_operands_link(operands, chain->length);
    for (uint32_t i = 0; i + 1 < chain->length; i++) {
        double known = ws_operands_again(operands, chain->length, i);
        uint64_t again = known >= 0 ? (uint64_t)known : moved_again(bytes[i], bytes[i + 1]);
        kernels[i].shared += links.shared >> i & 1;
        kernels[i].ordered += links.ordered >> i & 1;
        add_again(&kernels[i].bytes[WS_BYTES_ARGUMENTS], again, known >= 0 || again);
    }
    for (uint32_t i = 0; i < chain->length; i++)
        add_moved(&kernels[i].bytes[WS_BYTES_ARGUMENTS], moved_by(&operands[i]));
    double fused = ws_operands_fused(operands, lengths, chain->length);
    for (uint32_t i = 0; i < chain->length && fused > 0; i++)
        chain->modelled_time += (double)lengths[i];
    chain->modelled_fused += fused;
    chain->modelled += fused > 0;
    chain->examined++;
    finder->examined++;
}

/* Converts a number of bytes to an integer. Returns 0 if the number is 0 (not known) or not plausible. */
static uint64_t chains_bytes_of(float bytes)
{
    return bytes >= 1 && bytes < 1e18F ? (uint64_t)bytes : 0;
}

/* Adds two numbers to kernel i of a pattern: the bytes that the kernel moves, and the bytes that it passes on to the
 * next kernel. Computes each number twice: from the grid (WS_BYTES_LAUNCH), and from the inputs of the framework's
 * operator (WS_BYTES_SHAPE). */
static void add_sizes(const struct finder *finder, const struct run *run, uint32_t i, struct ws_chain_kernel *kernel)
{
    const struct shape_facts *shape = &finder->shapes[finder->ops->shape[run->ops[i]]];
    uint64_t by_grid = 0, by_shape = 0;
    if (i + 1 < run->length) {
        const struct ws_op_moved *next = &run->moved[i + 1];
        by_grid = moved_again(shape->bytes, finder->shapes[finder->ops->shape[run->ops[i + 1]]].bytes);
        if (run->moved[i].written > 0 && next->bytes > next->written)
            by_shape =
                moved_again(chains_bytes_of(run->moved[i].written), chains_bytes_of(next->bytes - next->written));
    }
    add_moved(&kernel->bytes[WS_BYTES_LAUNCH], shape->form ? shape->bytes * shape->form->iterator.operands : 0);
    add_moved(&kernel->bytes[WS_BYTES_SHAPE], chains_bytes_of(run->moved[i].bytes));
    add_again(&kernel->bytes[WS_BYTES_LAUNCH], shape->reduces ? 0 : by_grid, shape->reduces || by_grid);
    add_again(&kernel->bytes[WS_BYTES_SHAPE], shape->reduces ? 0 : by_shape, shape->reduces || by_shape);
}

static void add_occurrence(struct finder *finder, const struct run *run, struct ws_chain *chain)
{
    const struct ws_ops *ops = finder->ops;
    struct ws_chain_kernel *kernels = kernels_of(finder->result, chain);
    bool steady = ws_step_is_steady(run->step);
    for (uint32_t i = 0; i < chain->length; i++) {
        uint32_t op = run->ops[i];
        kernels[i].total = ws_sum(kernels[i].total, ws_op_length(ops, op));
        kernels[i].steady = ws_sum(kernels[i].steady, steady ? ws_op_length(ops, op) : 0);
        add_sizes(finder, run, i, &kernels[i]);
        if (i + 1 == chain->length)
            break;
        int64_t gap = ws_op_begin(ops, run->ops[i + 1]) - ws_op_end(ops, op);
        kernels[i].gap = ws_sum(kernels[i].gap, gap > 0 ? gap : 0);
        kernels[i].steady_gap = ws_sum(kernels[i].steady_gap, steady && gap > 0 ? gap : 0);
    }
    if (!chain->count++)
        chain->example = run->ops[0];
    chain->steady += steady;
    chain->named += run->is_named;
}

/* Adds a stream's chain (`run`) to its pattern, and empties `run`. Returns 0 or -ENOMEM. */
static int chains_add_run(struct finder *finder, struct run *run)
{
    uint32_t names[WS_CHAIN_MOST], length = run->length;
    if (length < 2) {
        run->length = 0;
        return 0;
    }
    for (uint32_t i = 0; i < length; i++)
        names[i] = ws_process_shape(finder->process, finder->ops->shape[run->ops[i]])->name;
    int index = find_chain(finder, names, length);
    if (index >= 0) {
        struct ws_chain *chain = chain_at(finder->result, (size_t)index);
        add_occurrence(finder, run, chain);
        if (ws_sparse_count(&finder->ops->params) && chain->examined < MOST_EXAMINED &&
            finder->examined < MOST_EXAMINED_IN_ALL)
            examine(finder, run, chain);
    } else {
        finder->result->left_out++;
    }
    run->length = 0;
    return index < 0 && index != -ENOSPC ? index : 0;
}

static int add_operation(struct finder *finder, size_t place, uint32_t op)
{
    const struct ws_ops *ops = finder->ops;
    const struct shape_facts *facts = &finder->shapes[ops->shape[op]];
    struct run *run = facts->run;
    enum ws_chain_role role = facts->role;
    int status = 0;
    if (role == WS_CHAIN_PASSES)
        return 0;
    finder->result->graphs += facts->is_graph;
    if (role == WS_CHAIN_ENDS && !run->length)
        return 0;
    int64_t begin = ws_op_begin(ops, op);
    const struct ws_step *step = ws_steps_next(finder->steps, &finder->step, begin);
    bool is_named = ws_named_has(finder->named, place);
    if (run->length && (role == WS_CHAIN_ENDS || run->length == WS_CHAIN_MOST || step != run->step ||
                        is_named != run->is_named || begin - run->end > PAUSE_NS))
        status = chains_add_run(finder, run);
    if (role == WS_CHAIN_BELONGS) {
        run->moved[run->length] = finder->moved ? finder->moved[place] : (struct ws_op_moved){ 0 };
        run->ops[run->length++] = op;
        run->end = ws_op_end(ops, op);
        run->step = step;
        run->is_named = is_named;
    }
    return status;
}

static int add_operations(struct finder *finder, const struct ws_track *track)
{
    int status = 0;
    for (size_t i = 0; i < track->count && !status; i++)
        status = add_operation(finder, i, track->order[i]);
    for (size_t i = 0; i < finder->run_count && !status; i++)
        status = chains_add_run(finder, &finder->runs[i]);
    return status;
}

/* Adds the figures of `length` kernels of the pattern with index `of`, from its kernel `from` on, to the pattern that
 * consists of exactly these kernels. */
static int add_part(struct finder *finder, size_t of, uint32_t from, uint32_t length)
{
    struct ws_track_chains *result = finder->result;
    uint32_t names[WS_CHAIN_MOST];
    for (uint32_t i = 0; i < length; i++)
        names[i] = kernels_of(result, chain_at(result, of))[from + i].name;
    int index = length > 1 ? find_chain(finder, names, length) : -ENOSPC;
    if (index < 0)
        return index == -ENOSPC ? 0 : index;
    struct ws_chain *part = chain_at(result, (size_t)index), *whole = chain_at(result, of);
    struct ws_chain_kernel *to = kernels_of(result, part), *whole_kernels = kernels_of(result, whole) + from;
    if (!part->count)
        part->example = whole->example;
    part->count += whole->count;
    part->steady += whole->steady;
    part->examined += whole->examined;
    part->named += whole->named;
    for (uint32_t i = 0; i < length; i++) {
        to[i].total = ws_sum(to[i].total, whole_kernels[i].total);
        to[i].steady = ws_sum(to[i].steady, whole_kernels[i].steady);
        for (int source = 0; source < WS_BYTES_KNOWN; source++) {
            const struct ws_chain_bytes *from_bytes = &whole_kernels[i].bytes[source];
            bool is_last = i + 1 == length;
            to[i].bytes[source].moved += from_bytes->moved;
            to[i].bytes[source].moved_known += from_bytes->moved_known;
            to[i].bytes[source].again += is_last ? 0 : from_bytes->again;
            to[i].bytes[source].again_known += is_last ? 0 : from_bytes->again_known;
        }
        if (i + 1 == length)
            break;
        to[i].gap = ws_sum(to[i].gap, whole_kernels[i].gap);
        to[i].steady_gap = ws_sum(to[i].steady_gap, whole_kernels[i].steady_gap);
        to[i].shared += whole_kernels[i].shared;
        to[i].ordered += whole_kernels[i].ordered;
    }
    return 0;
}

/* Splits patterns between two kernels if the addresses in the kernels' parameters show that no data passes from
 * kernels before this place to kernels after it. */
static int chains_split(struct finder *finder)
{
    struct ws_track_chains *result = finder->result;
    size_t count = result->chains.count;
    int status = 0;
    for (size_t of = 0; of < count && !status; of++) {
        uint32_t from = 0, length = chain_at(result, of)->length;
        for (uint32_t i = 0; i + 1 < length && chain_at(result, of)->examined && !status; i++) {
            if (kernels_of(result, chain_at(result, of))[i].shared)
                continue;
            status = add_part(finder, of, from, i + 1 - from);
            from = i + 1;
        }
        if (from && !status) {
            status = add_part(finder, of, from, length - from);
            chain_at(result, of)->count = 0;
        }
    }
    return status;
}

/* Allocates finder->runs: one unfinished chain for each stream on which the track has operations. Other streams of
 * the process get no chain, because a process may have many more streams than the track uses. Returns an array with
 * the index of each stream's entry in finder->runs, or NULL if memory runs out. The caller frees the array. */
static uint32_t *make_runs(struct finder *finder, size_t subject)
{
    const struct ws_process *process = finder->process;
    size_t streams = process->streams.rows.count;
    uint32_t *numbers = calloc(streams + 1, sizeof(*numbers));
    for (size_t i = 0; numbers && i < process->shapes.count; i++) {
        const struct ws_op_shape *shape = ws_process_shape(process, i);
        if (shape->track == subject)
            numbers[shape->stream != WS_NOWHERE ? shape->stream : streams] = 1;
    }
    for (size_t i = 0; numbers && i <= streams; i++)
        if (numbers[i])
            numbers[i] = (uint32_t)finder->run_count++;
    finder->runs = numbers ? calloc(finder->run_count + 1, sizeof(*finder->runs)) : NULL;
    if (finder->runs)
        return numbers;
    free(numbers);
    return NULL;
}

static int find_facts(struct finder *finder, const struct ws_report *report, size_t subject)
{
    const struct ws_process *process = finder->process;
    struct name_facts {
        bool known;
        enum ws_chain_role role;
        struct ws_arguments_form form;
    } *names = finder->names = calloc(report->model->names.count + 1, sizeof(*names));
    finder->shapes = calloc(process->shapes.count + 1, sizeof(*finder->shapes));
    uint32_t *numbers = make_runs(finder, subject);
    int status = names && finder->shapes && numbers ? 0 : -ENOMEM;
    for (size_t i = 0; i < process->shapes.count && !status; i++) {
        const struct ws_op_shape *shape = ws_process_shape(process, i);
        struct name_facts *name = &names[shape->name];
        if (shape->track != subject)
            continue;
        if (!name->known) {
            const struct ws_op_name *named = ws_model_name(report->model, shape->name);
            name->role = ws_chain_role(named, ws_report_class(report, shape->name));
            if (name->role == WS_CHAIN_BELONGS)
                name->form = ws_arguments_form_of(named->text);
            name->known = true;
        }
        finder->shapes[i].run =
            &finder->runs[numbers[shape->stream != WS_NOWHERE ? shape->stream : process->streams.rows.count]];
        finder->shapes[i].is_graph = shape->row.kind == WS_OP_GRAPH;
        finder->shapes[i].role = name->role;
        finder->shapes[i].form = name->role == WS_CHAIN_BELONGS ? &name->form : NULL;
        finder->shapes[i].bytes = ws_iterator_bytes(&name->form.iterator, &shape->row);
        finder->shapes[i].reduces = ws_report_class(report, shape->name) == WS_CLASS_REDUCTION;
    }
    free(numbers);
    return status;
}

static int chains_run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct ws_track_chains *result = memory;
    struct finder finder = {
        .process = process, .ops = &process->ops, .steps = steps, .index = { .limit = MOST_CHAINS }, .result = result
    };
    result->chains = WS_VECTOR(struct ws_chain);
    result->kernels = WS_VECTOR(struct ws_chain_kernel);
    result->steps = steps->kinds[WS_STEP_STEADY];
    finder.moved =
        ((const struct ws_track_roofline *)ws_report_result(report, &ws_analysis_roofline, subject))->moved;
    finder.named = ws_report_result(report, &ws_analysis_named, subject);
    int status = find_facts(&finder, report, subject);
    if (!status)
        status = add_operations(&finder, track);
    if (!status)
        status = chains_split(&finder);
    if (!status)
        ws_chains_conclude(result, ws_track_bandwidth(report, track), ws_memory_most(report, subject));
    free(finder.shapes);
    free(finder.names);
    free(finder.runs);
    ws_map_finish(&finder.index);
    return status;
}

static void chains_finish(void *memory)
{
    struct ws_track_chains *result = memory;
    ws_vector_finish(&result->chains);
    ws_vector_finish(&result->kernels);
}

const struct ws_analysis ws_analysis_chains = {
    .name = "chains",
    .title = "Chains",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_chains),
    .needs = { &ws_analysis_steps, &ws_analysis_roofline, &ws_analysis_memory, &ws_analysis_named },
    .run = chains_run,
    .finish = chains_finish,
    .text = ws_chains_text,
    .json = ws_chains_json,
    .advise = ws_chains_advise,
};
