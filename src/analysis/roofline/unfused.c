#include "analysis/roofline/unfused.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernels/classify.h"
#include "analysis/roofline/roofline.h"
#include "analysis/steps/steps.h"
#include "base/minmax.h"
#include "base/salted.h"

/* What an operation means for the search. PASSES: the operation is ignored. ENDS: the operation ends a sequence.
 * BETWEEN: the operation may run between the two products. */
enum role { PASSES, ENDS, PRODUCT, SOFTMAX, BETWEEN };

/* The last matrix product of a stream, and the kernels that the stream has run after it. `product` is the product's
 * index in ws_track.order, and `between` holds the indices of the kernels after it. */
struct follow {
    bool open; /* a product has run, and all kernels after it may belong to attention */
    uint32_t softmaxes, count;
    size_t product, between[WS_UNFUSED_BETWEEN];
};

/* The cost of an operator with given inputs. `known` is true if the operator is a matrix product of known sizes. */
struct product {
    struct ws_operator_cost cost;
    bool known;
};

struct search {
    const struct ws_report *report;
    const struct ws_process *process;
    const struct ws_track *track;
    const struct ws_op_moved
        *moved;     /* bytes moved by each operation, by index in ws_track.order; NULL: not known for any operation */
    uint8_t *roles; /* enum role of each shape, by index in ws_process.shapes */
    struct follow *follows; /* one per stream, by the stream's index; the last one is for unknown streams */
    /* maps (id of an operator's name << 32 | id of its inputs) to the index in `products` + 1 */
    struct ws_map prices;
    struct ws_vector products; /* struct product */
    struct ws_track_unfused *result;
};

static enum role role_of(const struct ws_op_name *name, enum ws_kernel_class class)
{
    if (name->kind != WS_OP_KERNEL)
        return name->kind == WS_OP_GRAPH ? ENDS : PASSES;
    switch (class) {
    case WS_CLASS_GEMM:
        return strstr(name->text, "splitK") || strstr(name->text, "splitk") ? PASSES : PRODUCT;
    case WS_CLASS_SOFTMAX:
        return strcasestr(name->text, "nll") || strcasestr(name->text, "loss") || strcasestr(name->text, "cross")
                   ? ENDS
                   : SOFTMAX;
    case WS_CLASS_POINTWISE:
    case WS_CLASS_COPY:
    case WS_CLASS_RNG:
        return BETWEEN;
    default:
        return ENDS;
    }
}

static uint32_t unfused_op(const struct search *search, size_t place)
{
    return search->track->order[place];
}

static uint32_t name_of(const struct search *search, size_t place)
{
    return ws_process_shape(search->process, search->process->ops.shape[unfused_op(search, place)])->name;
}

static int64_t length_of(const struct search *search, size_t place)
{
    return ws_op_length(&search->process->ops, unfused_op(search, place));
}

static int find_price(struct search *search, const struct ws_range *range, const struct product **found)
{
    struct ws_tensor tensors[WS_TENSORS];
    uint64_t key = ((uint64_t)range->name << 32 | range->inputs) + 1;
    uint64_t *place = ws_salted_put(&search->prices, key ? key : UINT64_MAX); /* the map does not allow the key 0 */
    if (!place)
        return -ENOMEM;
    if (!*place) {
        struct product *product = ws_vector_push(&search->products);
        const struct ws_label *name = ws_entries_find(&search->process->labels, range->name);
        const struct ws_label *inputs = ws_entries_find(&search->process->labels, range->inputs);
        const struct ws_operator *entry = name ? ws_operator_find(name->text.data, name->text.length) : NULL;
        if (!product)
            return -ENOMEM;
        *product = (struct product){ .known = false };
        if (entry && inputs && ws_operator_is_done_by(entry, WS_CLASS_GEMM))
            product->known =
                ws_operator_cost(entry, tensors, ws_tensors_parse(&inputs->text, tensors), &product->cost) &&
                product->cost.m > 0;
        *place = search->products.count;
    }
    *found = (const struct product *)search->products.data + *place - 1;
    return 0;
}

/* Sets *cost to the sizes and the cost of the matrix product that the kernel computes. The sizes and the cost come
 * from the innermost operator around the kernel's launch that is a matrix product of known sizes. If there is no such
 * operator, sets all of *cost to 0. */
static int find_product(struct search *search, size_t at, struct ws_operator_cost *cost)
{
    const struct ws_ops *ops = &search->process->ops;
    const struct ws_ranges *ranges = &search->process->ranges;
    const struct product *product;
    uint32_t op = unfused_op(search, at);
    memset(cost, 0, sizeof(*cost));
    if (!ws_op_thread(ops, op) || !ranges->rows.count)
        return 0;
    uint32_t place = ws_ranges_at(ranges, ws_op_thread(ops, op), ws_op_host_begin(ops, op));
    for (; place != WS_NO_RANGE; place = ranges->parents[place]) {
        if (ws_range(ranges, place)->kind != WS_RANGE_OPERATOR)
            continue;
        if (find_price(search, ws_range(ranges, place), &product))
            return -ENOMEM;
        if (product->known) {
            *cost = product->cost;
            return 0;
        }
    }
    return 0;
}

/* Do the sizes allow the result (m × n) of the first matrix product to be an operand of the second? */
static bool products_fit(const struct ws_operator_cost *first, const struct ws_operator_cost *second)
{
    bool over_n = second->k == first->n && (second->m == first->m || second->n == first->m);
    bool over_m = second->k == first->m && (second->m == first->n || second->n == first->n);
    return first->batch > 1 && first->batch == second->batch && (over_n || over_m);
}

static double element_bytes(enum ws_element element)
{
    switch (element) {
    case WS_ELEMENT_FP64:
        return 8;
    case WS_ELEMENT_FP16:
    case WS_ELEMENT_BF16:
        return 2;
    case WS_ELEMENT_FP8:
    case WS_ELEMENT_INT8:
        return 1;
    default:
        return 4;
    }
}

static bool is_same(const struct ws_unfused *pattern, uint32_t softmax, const struct ws_operator_cost *first,
                    const struct ws_operator_cost *second)
{
    const struct ws_operator_cost *a = &pattern->first, *b = &pattern->second;
    return pattern->softmax == softmax && a->batch == first->batch && a->m == first->m && a->n == first->n &&
           a->k == first->k && a->element == first->element && b->m == second->m && b->n == second->n &&
           b->k == second->k;
}

/* Finds or adds the pattern with these two matrix products and this softmax kernel. Returns NULL if there are too
 * many patterns, or if memory runs out. */
static struct ws_unfused *pattern_of(struct search *search, size_t softmax, const struct ws_operator_cost *first,
                                     const struct ws_operator_cost *second)
{
    struct ws_vector *patterns = &search->result->patterns;
    struct ws_unfused *list = patterns->data;
    uint32_t name = name_of(search, softmax);
    for (size_t i = 0; i < patterns->count; i++)
        if (is_same(&list[i], name, first, second))
            return &list[i];
    struct ws_unfused *pattern = patterns->count < WS_UNFUSED_PATTERNS ? ws_vector_push(patterns) : NULL;
    if (pattern)
        *pattern = (struct ws_unfused){
            .softmax = name, .first = *first, .second = *second, .example = unfused_op(search, softmax)
        };
    return pattern;
}

/* Adds an occurrence of attention to its pattern, unless the known sizes of its products do not fit. `follow` holds
 * the first matrix product and the kernels after it. `second` is the index of the second matrix product in
 * ws_track.order. */
static int add_attention(struct search *search, const struct follow *follow, size_t second)
{
    struct ws_operator_cost first_cost, second_cost;
    size_t softmax = second;
    if (find_product(search, follow->product, &first_cost) || find_product(search, second, &second_cost))
        return -ENOMEM;
    bool sized = first_cost.m > 0 || second_cost.m > 0;
    if (sized && !products_fit(&first_cost, &second_cost))
        return 0;
    for (uint32_t i = 0; i < follow->count; i++)
        if (search->roles[search->process->ops.shape[unfused_op(search, follow->between[i])]] == SOFTMAX)
            softmax = follow->between[i];
    struct ws_unfused *pattern = pattern_of(search, softmax, &first_cost, &second_cost);
    if (!pattern)
        return search->result->patterns.count < WS_UNFUSED_PATTERNS ? -ENOMEM : 0;
    double scores = first_cost.batch * first_cost.m * first_cost.n * element_bytes(first_cost.element);
    pattern->count++;
    pattern->bytes += 2 * scores; /* the first product writes the scores, and the second product reads them */
    pattern->products =
        ws_sum(ws_sum(pattern->products, length_of(search, follow->product)), length_of(search, second));
    for (uint32_t i = 0; i < follow->count; i++) {
        size_t place = follow->between[i];
        double moved = search->moved ? (double)search->moved[place].bytes : 0;
        bool may_copy = ws_report_class(search->report, name_of(search, place)) == WS_CLASS_COPY;
        if (sized && moved > 0 ? moved < scores / 2 : may_copy)
            continue;
        pattern->between = ws_sum(pattern->between, length_of(search, place));
        pattern->bytes += sized && !(moved > 0) ? 2 * scores : moved;
    }
    if (!sized)
        pattern->bytes = 0;
    return 0;
}

static int add_place(struct search *search, size_t place, bool counts)
{
    const struct ws_op_shape *shape =
        ws_process_shape(search->process, search->process->ops.shape[unfused_op(search, place)]);
    enum role role = search->roles[search->process->ops.shape[unfused_op(search, place)]];
    size_t streams = search->process->streams.rows.count;
    struct follow *follow = &search->follows[shape->stream != WS_NOWHERE ? shape->stream : streams];
    int status = 0;
    if (role == PASSES)
        return 0;
    if (role == PRODUCT) {
        if (follow->open && follow->softmaxes == 1 && counts)
            status = add_attention(search, follow, place);
        *follow = (struct follow){ .open = true, .product = place };
    } else if (role == ENDS || follow->count == WS_UNFUSED_BETWEEN) {
        follow->open = false;
    } else if (follow->open) {
        follow->softmaxes += role == SOFTMAX;
        follow->between[follow->count++] = place;
    }
    return status;
}

static int longest_between(const void *a, const void *b)
{
    const struct ws_unfused *x = a, *y = b;
    if (x->between != y->between)
        return x->between < y->between ? 1 : -1;
    return (x->example > y->example) - (x->example < y->example);
}

/* Sets the role (product, softmax …) of the kernels of each shape. Returns whether the device runs a softmax; without
 * a softmax there is no attention. */
static bool find_roles(struct search *search, size_t subject)
{
    bool any = false;
    for (size_t i = 0; i < search->process->shapes.count; i++) {
        const struct ws_op_shape *shape = ws_process_shape(search->process, i);
        search->roles[i] = (uint8_t)role_of(ws_model_name(search->report->model, shape->name),
                                            ws_report_class(search->report, shape->name));
        any = any || (shape->track == subject && search->roles[i] == SOFTMAX);
    }
    return any;
}

static int unfused_run(const struct ws_report *report, size_t subject, void *memory)
{
    struct ws_track_unfused *result = memory;
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, subject);
    const struct ws_track_roofline *roofline = ws_report_result(report, &ws_analysis_roofline, subject);
    struct search search = {
        .report = report, .track = ws_model_track(report->model, subject), .moved = roofline->moved, .result = result
    };
    search.process = ws_model_process(report->model, search.track->process);
    search.products = WS_VECTOR(struct product);
    search.roles = calloc(search.process->shapes.count + 1, sizeof(*search.roles));
    struct follow *follows = calloc(search.process->streams.rows.count + 1, sizeof(*follows));
    search.follows = follows;
    result->patterns = WS_VECTOR(struct ws_unfused);
    result->steps = steps->kinds[WS_STEP_STEADY];
    int status = search.roles && follows ? 0 : -ENOMEM;
    if (!status && find_roles(&search, subject)) {
        struct ws_steady_walk walk = ws_steady_walk(steps);
        for (size_t i = 0; i < search.track->count && !status; i++) {
            int64_t begin = ws_op_begin(&search.process->ops, search.track->order[i]);
            status = add_place(&search, i, !result->steps || ws_steady_at(&walk, begin));
        }
    }
    if (result->patterns.count)
        qsort(result->patterns.data, result->patterns.count, sizeof(struct ws_unfused), longest_between);
    ws_map_finish(&search.prices);
    ws_vector_finish(&search.products);
    free(search.roles);
    free(follows);
    return status;
}

bool ws_unfused_counts(const struct ws_track_unfused *result, const struct ws_unfused *pattern)
{
    return pattern->first.m > 0 || pattern->count >= 2 * (result->steps ? result->steps : 1);
}

bool ws_unfused_has_product(const struct ws_track_unfused *result, const struct ws_operator_cost *product)
{
    const struct ws_unfused *patterns = result->patterns.data;
    for (size_t i = 0; i < result->patterns.count; i++) {
        const struct ws_operator_cost *of[] = { &patterns[i].first, &patterns[i].second };
        for (size_t j = 0; j < 2; j++)
            if (of[j]->m > 0 && of[j]->batch == product->batch && of[j]->m == product->m && of[j]->n == product->n &&
                of[j]->k == product->k)
                return true;
    }
    return false;
}

bool ws_unfused_has_kernel(const struct ws_track_unfused *result, uint32_t name)
{
    const struct ws_unfused *patterns = result->patterns.data;
    for (size_t i = 0; i < result->patterns.count; i++)
        if (patterns[i].softmax == name && ws_unfused_counts(result, &patterns[i]))
            return true;
    return false;
}

static void unfused_finish(void *memory)
{
    struct ws_track_unfused *result = memory;
    ws_vector_finish(&result->patterns);
}

const struct ws_analysis ws_analysis_unfused = {
    .name = "unfused",
    .scope = WS_SCOPE_TRACK,
    .result_size = sizeof(struct ws_track_unfused),
    .needs = { &ws_analysis_steps, &ws_analysis_roofline },
    .run = unfused_run,
    .finish = unfused_finish,
    .advise = ws_unfused_advise,
    .json = ws_unfused_json,
};
