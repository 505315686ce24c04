/* Executable graphs. A launch queues each node as an operation on one of the graph's own streams, between a begin and
 * an end operation on the stream of the launch. Order, overlap and times thus come from the same model as for all
 * other work. */
#include "engine/graph.h"

#include <stdlib.h>
#include <string.h>

/* This many launches of one executable graph can be queued at least, however many nodes the graph has. */
enum { LAUNCHES_AHEAD = 16 };

static int step_add(struct sim_exec *exec, const struct sim_node *source, const struct sim_work *work)
{
    if (exec->count == exec->capacity) {
        unsigned capacity = exec->capacity ? exec->capacity * 2 : 32;
        struct sim_step *larger = realloc(exec->steps, capacity * sizeof(*larger));
        if (!larger)
            return -1;
        exec->steps = larger;
        exec->capacity = capacity;
    }
    struct sim_step *step = &exec->steps[exec->count];
    *step = (struct sim_step){ .source = source, .work = *work, .enabled = true, .last = true };
    sim_work_share(&step->work);
    return (int)exec->count++;
}

static bool step_depend(struct sim_exec *exec, int step, int on)
{
    struct sim_step *waits = &exec->steps[step];
    unsigned *larger = realloc(waits->dependencies, (waits->dependency_count + 1) * sizeof(*larger));
    if (!larger)
        return false;
    waits->dependencies = larger;
    larger[waits->dependency_count++] = (unsigned)on;
    exec->steps[on].last = false;
    return true;
}

static int flatten(struct sim_exec *exec, const struct sim_graph *graph, int begin, int *ends, unsigned *end_count);

/* Adds a node as a step, or as several steps if it is a child graph. Returns the step that dependent nodes have to
 * wait for. */
static int add_node(struct sim_exec *exec, const struct sim_graph *graph, unsigned index, const int *steps, int begin)
{
    const struct sim_node *node = graph->nodes[index];
    static const struct sim_work empty = { .kind = SIM_WORK_EMPTY, .unit = SIM_ENGINE_NONE };
    int step = step_add(exec, node, node->child ? &empty : &node->work);
    if (step < 0)
        return -1;
    for (unsigned i = 0; i < node->dependency_count; i++)
        if (!step_depend(exec, step, steps[node->dependencies[i]->index]))
            return -1;
    if (!node->dependency_count && begin >= 0 && !step_depend(exec, step, begin))
        return -1;
    if (!node->child)
        return step;
    int *ends = calloc(node->child->count + 1, sizeof(*ends));
    unsigned end_count = 0;
    int end = -1;
    if (ends && flatten(exec, node->child, step, ends, &end_count) == 0)
        end = step_add(exec, NULL, &empty);
    for (unsigned i = 0; end >= 0 && i < end_count; i++)
        if (!step_depend(exec, end, ends[i]))
            end = -1;
    if (end >= 0 && !end_count && !step_depend(exec, end, step))
        end = -1;
    free(ends);
    return end;
}

/* Adds the graph's nodes as steps, each after its dependencies. `ends` receives the steps on which no other step
 * depends. */
static int flatten(struct sim_exec *exec, const struct sim_graph *graph, int begin, int *ends, unsigned *end_count)
{
    int *steps = malloc((graph->count + 1) * sizeof(*steps));
    if (!steps)
        return -1;
    for (unsigned i = 0; i < graph->count; i++)
        graph->nodes[i]->index = i, steps[i] = -1;
    unsigned left = graph->count;
    int result = 0;
    for (bool progress = true; left && progress && result == 0;) {
        progress = false;
        for (unsigned i = 0; i < graph->count && result == 0; i++) {
            const struct sim_node *node = graph->nodes[i];
            bool ready = steps[i] < 0;
            for (unsigned j = 0; ready && j < node->dependency_count; j++)
                ready = steps[node->dependencies[j]->index] >= 0;
            if (!ready)
                continue;
            steps[i] = add_node(exec, graph, i, steps, begin);
            result = steps[i] < 0 ? -1 : 0;
            progress = true;
            left--;
        }
    }
    if (left)
        result = -1; /* the dependencies form a cycle */
    for (unsigned i = 0; result == 0 && i < graph->count; i++)
        if (exec->steps[steps[i]].last)
            ends[(*end_count)++] = steps[i];
    free(steps);
    return result;
}

/* Gives each step a stream. A step takes over the stream of one of its dependencies, if no other step has taken that
 * stream over from it. Otherwise the step gets a new stream. */
static bool place_on_branches(struct sim_exec *exec)
{
    bool *taken = calloc(exec->count + 1, sizeof(*taken));
    if (!taken)
        return false;
    for (unsigned i = 0; i < exec->count; i++) {
        struct sim_step *step = &exec->steps[i];
        unsigned branch = exec->branch_count;
        for (unsigned j = 0; j < step->dependency_count && branch == exec->branch_count; j++)
            if (!taken[step->dependencies[j]]) {
                taken[step->dependencies[j]] = true;
                branch = exec->steps[step->dependencies[j]].branch;
            }
        step->branch = branch;
        exec->branch_count += branch == exec->branch_count;
    }
    free(taken);
    exec->branches = calloc(exec->branch_count + 1, sizeof(struct sim_stream *));
    for (unsigned i = 0; exec->branches && i < exec->branch_count; i++) {
        if (sim_stream_create(exec->context, WS_CU_STREAM_NON_BLOCKING, 0, &exec->branches[i]) != WS_CUDA_SUCCESS)
            return false;
        exec->branches[i]->internal = true;
    }
    return exec->branches != NULL;
}

ws_CUresult sim_exec_create(struct sim_exec **made, struct sim_graph *graph, struct sim_context *context)
{
    struct sim_exec *exec = calloc(1, sizeof(*exec));
    int *ends = malloc((graph->count + 1) * sizeof(*ends));
    unsigned end_count = 0;
    ws_CUresult result = WS_CUDA_ERROR_OUT_OF_MEMORY;
    if (exec && ends) {
        exec->magic = SIM_EXEC;
        exec->context = context;
        exec->context_id = context->id;
        result = flatten(exec, graph, -1, ends, &end_count) == 0 ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_VALUE;
        if (result == WS_CUDA_SUCCESS && !place_on_branches(exec))
            result = context->destroyed ? WS_CUDA_ERROR_CONTEXT_IS_DESTROYED : WS_CUDA_ERROR_OUT_OF_MEMORY;
    }
    free(ends);
    if (result != WS_CUDA_SUCCESS && exec) {
        sim_exec_destroy(exec);
        exec = NULL;
    }
    *made = exec;
    return result;
}

static bool has_streams(const struct sim_exec *exec)
{
    return exec->branches && !exec->context->destroyed && exec->context->id == exec->context_id;
}

void sim_exec_destroy(struct sim_exec *exec)
{
    for (unsigned i = 0; i < exec->count; i++) {
        sim_work_finish(&exec->steps[i].work);
        free(exec->steps[i].dependencies);
    }
    for (unsigned i = 0; has_streams(exec) && i < exec->branch_count; i++) {
        struct sim_stream *branch = exec->branches[i];
        if (!branch)
            continue;
        branch->destroyed = true;
        if (!branch->count)
            sim_stream_forget(branch);
    }
    free(exec->branches);
    free(exec->steps);
    exec->magic = 0;
    free(exec);
}

struct sim_step *sim_exec_step(struct sim_exec *exec, const struct sim_node *node)
{
    for (unsigned i = 0; i < exec->count; i++)
        if (exec->steps[i].source == node)
            return &exec->steps[i];
    return NULL;
}

static struct sim_op *queue_step(struct sim_exec *exec, struct sim_step *step, struct sim_op *begin, int64_t submit)
{
    struct sim_stream *branch = exec->branches[step->branch];
    struct sim_work work = step->work;
    if (!step->enabled)
        work = (struct sim_work){ .kind = SIM_WORK_EMPTY, .unit = SIM_ENGINE_NONE };
    else
        sim_work_share(&work);
    branch->handle = begin->stream->handle;
    branch->id = begin->stream->id;
    branch->priority = begin->stream->priority;
    struct sim_op *op = sim_enqueue(branch, &work, submit);
    if (!op)
        return NULL;
    sim_depend(op, begin);
    for (unsigned i = 0; i < step->dependency_count; i++)
        sim_depend(op, exec->steps[step->dependencies[i]].op);
    if (work.kind == SIM_WORK_EVENT)
        sim_event_recorded(op);
    else if (work.kind == SIM_WORK_WAIT)
        sim_event_wait(op, work.event.event);
    sim_settle(branch);
    return op;
}

ws_CUresult sim_exec_launch(struct sim_exec *exec, struct sim_stream *stream)
{
    struct sim_work work = { .kind = SIM_WORK_GRAPH_BEGIN, .unit = SIM_ENGINE_NONE, .name = "graph" };
    pthread_mutex_lock(&sim_lock);
    /* A graph may have more nodes than a program's stream can queue. So the graph's own streams have longer
     * queues. */
    for (unsigned i = 0; i < exec->branch_count; i++)
        sim_make_room(exec->branches[i], (unsigned)sim_config.queue_depth + exec->count * LAUNCHES_AHEAD);
    sim_make_room(stream, (unsigned)sim_config.queue_depth);
    ws_CUresult result = has_streams(exec) ? sim_alive(stream) : WS_CUDA_ERROR_INVALID_HANDLE;
    if (result != WS_CUDA_SUCCESS) {
        pthread_mutex_unlock(&sim_lock);
        return result;
    }
    int64_t now = sim_now(), submit = now + sim_config.launch_ns;
    struct sim_op *begin = sim_enqueue(stream, &work, submit);
    if (begin && exec->last_stream && exec->last_stream->done < exec->last_number)
        sim_depend(begin, exec->last_op);
    sim_settle(stream);
    struct sim_op *end = NULL;
    bool complete = begin != NULL;
    for (unsigned i = 0; complete && i < exec->count; i++) {
        exec->steps[i].op = queue_step(exec, &exec->steps[i], begin, submit);
        complete = exec->steps[i].op != NULL;
    }
    work.kind = SIM_WORK_GRAPH_END;
    if (complete)
        end = sim_enqueue(stream, &work, submit);
    if (end) {
        for (unsigned i = 0; i < exec->count; i++)
            if (exec->steps[i].last)
                sim_depend(end, exec->steps[i].op);
        exec->last_stream = stream;
        exec->last_number = end->number;
        exec->last_op = end;
        sim_settle(stream);
    }
    pthread_mutex_unlock(&sim_lock);
    if (sim_config.launch_ns)
        sim_spin_until(submit);
    return end ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_OUT_OF_MEMORY;
}
