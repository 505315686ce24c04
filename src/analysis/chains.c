#include "analysis/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/arguments.h"
#include "analysis/chain_kernel.h"
#include "analysis/peaks.h"
#include "analysis/steps.h"
#include "analysis/times.h"
#include "base/hash.h"
#include "base/map.h"

enum {
    PAUSE_NS = 1000000,  /* longer than this, and what follows belongs to something else */
    MOST_CHAINS = 65536, /* patterns; what does not fit is counted */
    MOST_EXAMINED = 64,  /* occurrences of a pattern whose buffers are compared */
    MOST_EXAMINED_IN_ALL = 16384,
};

/* What the kernels of a stream have in a row until now. */
struct run {
    uint32_t length;
    uint32_t ops[WS_CHAIN_MOST];
    int64_t end;                /* of the last */
    const struct ws_step *step; /* that holds them; NULL: none */
};

struct shape_facts {
    enum ws_chain_role role;
    const struct ws_arguments_form *form; /* NULL: it belongs to no chain */
    uint64_t bytes;                       /* of an array, by the grid; 0: not known */
};

struct finder {
    const struct ws_process *process;
    const struct ws_ops *ops;
    struct shape_facts *shapes;
    void *names;         /* what forms are part of */
    struct run *runs;    /* by stream; the last is that of operations without one */
    struct ws_map index; /* hash of a pattern's names → its index + 1 */
    uint32_t examined;
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

/* The pattern's index, new or known; -ENOSPC when there are too many, or -ENOMEM. */
static int find_chain(struct finder *finder, const uint32_t *names, uint32_t length)
{
    struct ws_track_chains *result = finder->result;
    for (uint64_t key = ws_hash(names, length * sizeof(*names));; key++) {
        uint64_t *place = ws_map_put(&finder->index, key ? key : 1);
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

/* Written by one kernel and read again by the next: twice what the one is known to write or the other to read, the
 * less of both. */
static uint64_t moved_again(uint64_t written, uint64_t read)
{
    return 2 * (written && (!read || written < read) ? written : read);
}

/* Compares the buffers of an occurrence, where all its kernels' parameters were kept. */
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
        kernels[i].sized += known >= 0 || again;
        kernels[i].examined_bytes += again;
    }
    double fused = ws_operands_fused(operands, lengths, chain->length);
    for (uint32_t i = 0; i < chain->length && fused > 0; i++)
        chain->modelled_time += (double)lengths[i];
    chain->modelled_fused += fused;
    chain->modelled += fused > 0;
    chain->examined++;
    finder->examined++;
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
        if (i + 1 == chain->length)
            break;
        int64_t gap = ops->begin[run->ops[i + 1]] - ws_op_end(ops, op);
        uint64_t again =
            moved_again(finder->shapes[ops->shape[op]].bytes, finder->shapes[ops->shape[run->ops[i + 1]]].bytes);
        kernels[i].gap = ws_sum(kernels[i].gap, gap > 0 ? gap : 0);
        kernels[i].bytes += again;
        kernels[i].unsized += !again;
    }
    if (!chain->count++)
        chain->example = run->ops[0];
    chain->steady += steady;
}

/* Adds what has come in a row to its pattern. Returns 0 or -ENOMEM. */
static int fold(struct finder *finder, struct run *run)
{
    uint32_t names[WS_CHAIN_MOST], length = run->length;
    run->length = 0;
    if (length < 2)
        return 0;
    for (uint32_t i = 0; i < length; i++)
        names[i] = ws_process_shape(finder->process, finder->ops->shape[run->ops[i]])->name;
    int index = find_chain(finder, names, length);
    if (index < 0) {
        finder->result->left_out++;
        return index == -ENOSPC ? 0 : index;
    }
    struct ws_chain *chain = chain_at(finder->result, (size_t)index);
    add_occurrence(finder, run, chain);
    if (finder->ops->params.count && chain->examined < MOST_EXAMINED && finder->examined < MOST_EXAMINED_IN_ALL)
        examine(finder, run, chain);
    return 0;
}

static int look_at(struct finder *finder, uint32_t op, const struct ws_step *step)
{
    const struct ws_ops *ops = finder->ops;
    const struct ws_op_shape *shape = ws_process_shape(finder->process, ops->shape[op]);
    size_t stream = shape->stream != WS_NOWHERE ? shape->stream : finder->process->streams.rows.count;
    struct run *run = &finder->runs[stream];
    enum ws_chain_role role = finder->shapes[ops->shape[op]].role;
    int status = 0;
    if (role == WS_CHAIN_PASSES)
        return 0;
    finder->result->graphs += shape->row.kind == WS_OP_GRAPH;
    if (run->length && (role == WS_CHAIN_ENDS || run->length == WS_CHAIN_MOST || step != run->step ||
                        ops->begin[op] - run->end > PAUSE_NS))
        status = fold(finder, run);
    if (role == WS_CHAIN_BELONGS) {
        run->ops[run->length++] = op;
        run->end = ws_op_end(ops, op);
        run->step = step;
    }
    return status;
}

static int look_at_all(struct finder *finder, const struct ws_track_steps *steps, const struct ws_track *track)
{
    size_t cursor = 0;
    int status = 0;
    for (size_t i = 0; i < track->count && !status; i++)
        status = look_at(finder, track->order[i], ws_steps_next(steps, &cursor, finder->ops->begin[track->order[i]]));
    for (size_t i = 0; i <= finder->process->streams.rows.count && !status; i++)
        status = fold(finder, &finder->runs[i]);
    return status;
}

/* Adds a part of a pattern, from one of its kernels on, to the pattern of that part alone. */
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
    for (uint32_t i = 0; i < length; i++) {
        to[i].total = ws_sum(to[i].total, whole_kernels[i].total);
        to[i].steady = ws_sum(to[i].steady, whole_kernels[i].steady);
        if (i + 1 == length)
            break;
        to[i].gap = ws_sum(to[i].gap, whole_kernels[i].gap);
        to[i].bytes += whole_kernels[i].bytes;
        to[i].unsized += whole_kernels[i].unsized;
        to[i].shared += whole_kernels[i].shared;
        to[i].ordered += whole_kernels[i].ordered;
        to[i].sized += whole_kernels[i].sized;
        to[i].examined_bytes += whole_kernels[i].examined_bytes;
    }
    return 0;
}

/* Takes patterns apart where the buffers say that nothing goes over. */
static int take_apart(struct finder *finder)
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

/* From the best source that knows all of it. */
static void find_bytes(const struct ws_track_chains *result, struct ws_chain *chain, double bytes_per_ns)
{
    const struct ws_chain_kernel *kernels = ws_chain_kernels(result, chain);
    double examined = 0, launched = 0, in_time = bytes_per_ns * (double)chain->saving, most = 1e18;
    bool all_sized = chain->examined, all_launched = true;
    for (uint32_t i = 0; i + 1 < chain->length; i++) {
        examined += (double)kernels[i].examined_bytes;
        launched += (double)kernels[i].bytes;
        all_sized = all_sized && kernels[i].sized == chain->examined;
        all_launched = all_launched && !kernels[i].unsized;
    }
    examined *= chain->examined ? (double)chain->count / chain->examined : 0;
    if (all_sized && examined < most) {
        chain->bytes_source = WS_BYTES_ARGUMENTS;
        chain->bytes = (uint64_t)examined;
    } else if (all_launched && launched < most) {
        chain->bytes_source = WS_BYTES_LAUNCH;
        chain->bytes = (uint64_t)launched;
    } else if (in_time > 0 && in_time < most) {
        chain->bytes_source = WS_BYTES_TIME;
        chain->bytes = (uint64_t)in_time;
    }
}

static void conclude(const struct ws_track_chains *result, struct ws_chain *chain, double bytes_per_ns)
{
    const struct ws_chain_kernel *kernels = ws_chain_kernels(result, chain);
    int64_t steady = 0, steady_longest = 0;
    chain->proof = chain->examined ? WS_CHAIN_WRITES_READS : WS_CHAIN_ADJACENT;
    for (uint32_t i = 0; i < chain->length; i++) {
        chain->total = ws_sum(chain->total, kernels[i].total);
        chain->gap = ws_sum(chain->gap, kernels[i].gap);
        steady = ws_sum(steady, kernels[i].steady);
        if (kernels[i].total > chain->longest)
            chain->longest = kernels[i].total;
        if (kernels[i].steady > steady_longest)
            steady_longest = kernels[i].steady;
        if (i + 1 < chain->length && kernels[i].ordered < chain->examined)
            chain->proof = WS_CHAIN_SHARES;
    }
    chain->fused = chain->longest;
    int64_t steady_fused = steady_longest;
    bool modelled = chain->modelled && chain->modelled == chain->examined;
    if (modelled && chain->modelled_fused < chain->modelled_time && chain->total < WS_TIME_MOST) {
        double share = chain->modelled_fused / chain->modelled_time;
        chain->fused = (int64_t)((double)chain->total * share);
        steady_fused = (int64_t)((double)steady * share);
    }
    chain->saving = ws_sum(chain->total, -chain->fused);
    chain->steady_saving = ws_sum(steady, -steady_fused);
    find_bytes(result, chain, bytes_per_ns);
}

static int greatest_first(const void *a, const void *b)
{
    const struct ws_chain *x = a, *y = b;
    if (x->steady_saving != y->steady_saving)
        return x->steady_saving < y->steady_saving ? 1 : -1;
    if (x->saving != y->saving)
        return x->saving < y->saving ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

static void conclude_all(struct ws_track_chains *result, double bytes_per_ns)
{
    struct ws_chain *chains = result->chains.data;
    size_t kept = 0;
    for (size_t i = 0; i < result->chains.count; i++) {
        if (!chains[i].count)
            continue;
        conclude(result, &chains[i], bytes_per_ns);
        chains[kept++] = chains[i];
    }
    result->chains.count = kept;
    if (kept)
        qsort(chains, kept, sizeof(*chains), greatest_first);
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
    int status = names && finder->shapes ? 0 : -ENOMEM;
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
        finder->shapes[i].role = name->role;
        finder->shapes[i].form = name->role == WS_CHAIN_BELONGS ? &name->form : NULL;
        finder->shapes[i].bytes = ws_iterator_bytes(&name->form.iterator, &shape->row);
    }
    return status;
}

static int run(const struct ws_report *report, size_t subject, void *memory)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_process *process = ws_model_process(report->model, track->process);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    struct ws_track_chains *result = memory;
    struct finder finder = {
        .process = process, .ops = &process->ops, .index = { .limit = MOST_CHAINS }, .result = result
    };
    result->chains = WS_VECTOR(struct ws_chain);
    result->kernels = WS_VECTOR(struct ws_chain_kernel);
    result->steps = steps->kinds[WS_STEP_STEADY];
    finder.runs = calloc(process->streams.rows.count + 1, sizeof(*finder.runs));
    int status = finder.runs ? find_facts(&finder, report, subject) : -ENOMEM;
    if (!status)
        status = look_at_all(&finder, steps, track);
    if (!status)
        status = take_apart(&finder);
    if (!status)
        conclude_all(result, ws_track_bandwidth(report, track));
    free(finder.shapes);
    free(finder.names);
    free(finder.runs);
    ws_map_finish(&finder.index);
    return status;
}

static void finish(void *memory)
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
    .needs = { &ws_analysis_steps },
    .run = run,
    .finish = finish,
    .text = ws_chains_text,
    .json = ws_chains_json,
    .advise = ws_chains_advise,
};
