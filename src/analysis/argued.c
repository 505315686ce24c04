#include "analysis/argued.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/arguments.h"
#include "base/salted.h"

/* What is known of the launches of a shape. */
struct by_shape {
    struct ws_operator_cost cost;
    uint64_t blocks;   /* launches whose parameters were kept */
    uint64_t launches; /* asked for so far, with and without */
    bool differ;       /* they do not all come to the same */
};

/* What a block of parameters says of launches of a shape; many launches share one. */
struct said {
    struct ws_operator_cost cost;
    bool known;
};

struct ws_argued {
    const struct ws_model *model;
    const struct ws_process *process;
    struct by_shape *shapes;
    struct ws_arguments_form *forms; /* by name, and whether they were looked for */
    bool *has_form;
    struct ws_map saying;  /* params << 32 | shape → place in said + 1 */
    struct ws_vector said; /* struct said */
};

/* What parameters say of an operation; known is false where they say nothing. NULL when memory is out. */
static const struct said *argue(struct ws_argued *argued, uint32_t op)
{
    static const struct said nothing;
    const struct ws_ops *ops = &argued->process->ops;
    const struct ws_op_shape *shape = ws_process_shape(argued->process, ops->shape[op]);
    uint32_t params = ws_op_params(ops, op);
    struct ws_arguments_form *form = &argued->forms[shape->name];
    if (!argued->has_form[shape->name]) {
        *form = ws_arguments_form_of(ws_model_name(argued->model, shape->name)->text);
        argued->has_form[shape->name] = true;
    }
    if (!form->arrays || !params)
        return &nothing;
    uint64_t *place = ws_salted_put(&argued->saying, (uint64_t)params << 32 | ops->shape[op]);
    if (place && !*place) {
        struct said *said = ws_vector_push(&argued->said);
        if (!said)
            return NULL;
        said->known = ws_arguments_cost(form, argued->process, &shape->row, params, &said->cost);
        *place = argued->said.count;
    }
    return place ? (const struct said *)argued->said.data + *place - 1 : NULL;
}

static int read_all(struct ws_argued *argued, size_t track)
{
    const struct ws_ops *ops = &argued->process->ops;
    for (size_t i = ws_sparse_next(&ops->params, 0); i < ops->count; i = ws_sparse_next(&ops->params, i + 1)) {
        const struct ws_op_shape *shape = ws_process_shape(argued->process, ops->shape[i]);
        if (shape->track != track || ws_model_name(argued->model, shape->name)->kind != WS_OP_KERNEL)
            continue;
        struct by_shape *like = &argued->shapes[ops->shape[i]];
        const struct said *said = argue(argued, (uint32_t)i);
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

int ws_argued_create(struct ws_argued **result, const struct ws_model *model, const struct ws_process *process,
                     size_t track)
{
    *result = NULL;
    if (!ws_sparse_count(&process->ops.params))
        return 0;
    struct ws_argued *argued = calloc(1, sizeof(*argued));
    if (!argued)
        return -ENOMEM;
    argued->model = model;
    argued->process = process;
    argued->said = WS_VECTOR(struct said);
    argued->shapes = calloc(process->shapes.count + 1, sizeof(*argued->shapes));
    argued->forms = calloc(model->names.count + 1, sizeof(*argued->forms));
    argued->has_form = calloc(model->names.count + 1, sizeof(*argued->has_form));
    int status = argued->shapes && argued->forms && argued->has_form ? read_all(argued, track) : -ENOMEM;
    if (status)
        ws_argued_destroy(argued);
    else
        *result = argued;
    return status;
}

bool ws_argued_has(const struct ws_argued *argued, uint32_t shape)
{
    return argued && argued->shapes[shape].blocks;
}

const struct ws_operator_cost *ws_argued_cost(struct ws_argued *argued, uint32_t op, bool *carried)
{
    *carried = false;
    uint32_t shape = argued ? argued->process->ops.shape[op] : 0;
    if (!ws_argued_has(argued, shape))
        return NULL;
    struct by_shape *like = &argued->shapes[shape];
    *carried = ++like->launches > like->blocks && !like->differ;
    if (!like->differ)
        return &like->cost;
    const struct said *said = argue(argued, op);
    return said && said->known ? &said->cost : NULL;
}

void ws_argued_destroy(struct ws_argued *argued)
{
    if (!argued)
        return;
    free(argued->shapes);
    free(argued->forms);
    free(argued->has_form);
    ws_map_finish(&argued->saying);
    ws_vector_finish(&argued->said);
    free(argued);
}
