#include "analysis/cost/kernel_cost.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/cost/arguments.h"
#include "base/salted.h"

/* The cost of the launches of one shape (kernel, grid, stream …), from their recorded parameters. */
struct by_shape {
    struct ws_operator_cost cost;
    uint64_t blocks;   /* number of launches of the shape whose recorded parameters give a cost */
    uint64_t launches; /* how often ws_kernel_costs_cost was called for this shape */
    bool differ;       /* the parameters of different launches give different costs */
};

/* The cost that a parameter block (the recorded parameters of a launch) gives for launches of a shape. The cost is
 * computed once per parameter block and shape, because many launches have the same parameters. */
struct said {
    struct ws_operator_cost cost;
    bool known;
};

struct ws_kernel_costs {
    const struct ws_model *model;
    const struct ws_process *process;
    struct by_shape *shapes;
    struct ws_arguments_form *forms; /* facts that a kernel's name gives about its parameters, by index of the name;
                                        valid where has_form is set */
    bool *has_form;
    struct ws_map saying;  /* id of parameters << 32 | index of a shape → index in `said` + 1 */
    struct ws_vector said; /* elements: struct said */
};

/* Returns the cost that the operation's own recorded parameters give. `known` of the result is false if the
 * parameters were not recorded or do not give the cost. Returns NULL if memory runs out. */
static const struct said *cost_from_params(struct ws_kernel_costs *costs, uint32_t op)
{
    static const struct said nothing;
    const struct ws_ops *ops = &costs->process->ops;
    const struct ws_op_shape *shape = ws_process_shape(costs->process, ops->shape[op]);
    uint32_t params = ws_op_params(ops, op);
    struct ws_arguments_form *form = &costs->forms[shape->name];
    if (!costs->has_form[shape->name]) {
        *form = ws_arguments_form_of(ws_model_name(costs->model, shape->name)->text);
        costs->has_form[shape->name] = true;
    }
    if (!form->arrays || !params)
        return &nothing;
    uint64_t *place = ws_salted_put(&costs->saying, (uint64_t)params << 32 | ops->shape[op]);
    if (place && !*place) {
        struct said *said = ws_vector_push(&costs->said);
        if (!said)
            return NULL;
        said->known = ws_arguments_cost(form, costs->process, &shape->row, params, &said->cost);
        *place = costs->said.count;
    }
    return place ? (const struct said *)costs->said.data + *place - 1 : NULL;
}

static int read_all(struct ws_kernel_costs *costs, size_t track)
{
    const struct ws_ops *ops = &costs->process->ops;
    for (size_t i = ws_sparse_next(&ops->params, 0); i < ops->count; i = ws_sparse_next(&ops->params, i + 1)) {
        const struct ws_op_shape *shape = ws_process_shape(costs->process, ops->shape[i]);
        if (shape->track != track || ws_model_name(costs->model, shape->name)->kind != WS_OP_KERNEL)
            continue;
        struct by_shape *like = &costs->shapes[ops->shape[i]];
        const struct said *said = cost_from_params(costs, (uint32_t)i);
        if (!said)
            return -ENOMEM;
        if (!said->known)
            continue;
        if (!like->blocks++)
            like->cost = said->cost;
        like->differ = like->differ || said->cost.bytes != like->cost.bytes || said->cost.flops != like->cost.flops;
    }
    return 0;
}

int ws_kernel_costs_create(struct ws_kernel_costs **result, const struct ws_model *model,
                           const struct ws_process *process, size_t track)
{
    *result = NULL;
    if (!ws_sparse_count(&process->ops.params))
        return 0;
    struct ws_kernel_costs *costs = calloc(1, sizeof(*costs));
    if (!costs)
        return -ENOMEM;
    costs->model = model;
    costs->process = process;
    costs->said = WS_VECTOR(struct said);
    costs->shapes = calloc(process->shapes.count + 1, sizeof(*costs->shapes));
    costs->forms = calloc(model->names.count + 1, sizeof(*costs->forms));
    costs->has_form = calloc(model->names.count + 1, sizeof(*costs->has_form));
    int status = costs->shapes && costs->forms && costs->has_form ? read_all(costs, track) : -ENOMEM;
    if (status)
        ws_kernel_costs_destroy(costs);
    else
        *result = costs;
    return status;
}

bool ws_kernel_costs_has(const struct ws_kernel_costs *costs, uint32_t shape)
{
    return costs && costs->shapes[shape].blocks;
}

const struct ws_operator_cost *ws_kernel_costs_cost(struct ws_kernel_costs *costs, uint32_t op, bool *carried)
{
    *carried = false;
    uint32_t shape = costs ? costs->process->ops.shape[op] : 0;
    if (!ws_kernel_costs_has(costs, shape))
        return NULL;
    struct by_shape *like = &costs->shapes[shape];
    *carried = ++like->launches > like->blocks && !like->differ;
    if (!like->differ)
        return &like->cost;
    const struct said *said = cost_from_params(costs, op);
    return said && said->known ? &said->cost : NULL;
}

void ws_kernel_costs_destroy(struct ws_kernel_costs *costs)
{
    if (!costs)
        return;
    free(costs->shapes);
    free(costs->forms);
    free(costs->has_form);
    ws_map_finish(&costs->saying);
    ws_vector_finish(&costs->said);
    free(costs);
}
