#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

static void copy_run(const struct sim_copy *copy)
{
    for (size_t z = 0; z < copy->depth; z++) {
        char *to = copy->to + z * copy->to_slice;
        const char *from = copy->from + z * copy->from_slice;
        if (copy->height == 1 || (copy->width == copy->to_pitch && copy->width == copy->from_pitch)) {
            memmove(to, from, copy->width * copy->height);
            continue;
        }
        for (size_t y = 0; y < copy->height; y++)
            memmove(to + y * copy->to_pitch, from + y * copy->from_pitch, copy->width);
    }
}

static void memset_run(const struct sim_memset *memory)
{
    for (size_t y = 0; y < memory->height; y++) {
        char *row = memory->to + y * memory->pitch;
        if (memory->element == 1)
            memset(row, (int)memory->value, memory->width);
        else
            for (size_t x = 0; x < memory->width; x++)
                memcpy(row + x * memory->element, &memory->value, memory->element);
    }
}

static void kernel_run(const struct sim_launch *launch)
{
    const struct sim_kernel *kernel = launch->function->kernel;
    if (kernel && kernel->run && (launch->arguments || !launch->function->parameter_count))
        kernel->run(launch->arguments ? launch->arguments->pointers : NULL, launch->grid, launch->block);
}

/* With SIMGPU_COPY_DATA=0 copies within a device and memsets move no bytes, to save host time. */
static bool moves_nothing(const struct sim_work *work)
{
    bool is_copy = work->kind == SIM_WORK_COPY && !strcmp(work->name, "DtoD");
    return !sim_config.copy_data && (is_copy || work->kind == SIM_WORK_MEMSET);
}

static void work_run(struct sim_work *work)
{
    switch (moves_nothing(work) ? SIM_WORK_EMPTY : work->kind) {
    case SIM_WORK_KERNEL:
        kernel_run(&work->launch);
        break;
    case SIM_WORK_COPY:
        copy_run(&work->copy);
        break;
    case SIM_WORK_MEMSET:
        memset_run(&work->memset);
        break;
    case SIM_WORK_WRITE_VALUE:
        if (work->value.bytes == sizeof(uint64_t))
            __atomic_store_n((uint64_t *)work->value.address, work->value.value, __ATOMIC_RELEASE);
        else
            __atomic_store_n((uint32_t *)work->value.address, (uint32_t)work->value.value, __ATOMIC_RELEASE);
        break;
    case SIM_WORK_FREE:
        sim_memory_free(work->memory.address, SIM_MEMORY_DEVICE);
        break;
    default:
        break;
    }
    sim_work_finish(work);
}

/* Whether the operation has no real work that must be done when it ends. */
bool sim_work_is_free(const struct sim_work *work)
{
    switch (work->kind) {
    case SIM_WORK_KERNEL:
        return !work->launch.arguments &&
               (!work->launch.function->kernel || sim_computes_nothing(work->launch.function->kernel));
    case SIM_WORK_COPY:
    case SIM_WORK_MEMSET:
    case SIM_WORK_WRITE_VALUE:
    case SIM_WORK_FREE:
        return false;
    default:
        return true;
    }
}

void sim_arguments_release(struct sim_arguments *arguments)
{
    if (arguments && __atomic_sub_fetch(&arguments->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(arguments);
}

/* Frees the memory that belongs to this work: a launch's arguments or a copy's buffer. */
void sim_work_finish(struct sim_work *work)
{
    if (work->kind == SIM_WORK_KERNEL)
        sim_arguments_release(work->launch.arguments);
    else if (work->kind == SIM_WORK_COPY)
        free(work->copy.staging);
}

static ws_CUresult fault_of(const struct sim_work *work)
{
    if (work->kind != SIM_WORK_KERNEL || !work->launch.function->kernel)
        return WS_CUDA_SUCCESS;
    return work->launch.function->kernel->fault;
}

/* Does the real work of a stream's first operation, after the real work of all its dependencies. With
 * sim_execute_lock and sim_lock held. */
static void execute_first(struct sim_stream *stream)
{
    struct sim_op *op = stream->head;
    uint64_t number = op->number;
    for (unsigned i = 0; i < op->dependency_count; i++) {
        struct sim_dependency dependency = op->dependencies[i];
        while (dependency.stream->done < dependency.number)
            execute_first(dependency.stream);
        /* The call above released sim_lock for a time, so another thread may have removed an operation without real
         * work. */
        if (stream->head != op || op->number != number)
            return;
    }
    if (!op->ran && !sim_work_is_free(&op->work)) {
        ws_CUresult fault = fault_of(&op->work);
        pthread_mutex_unlock(&sim_lock);
        work_run(&op->work);
        pthread_mutex_lock(&sim_lock);
        if (fault != WS_CUDA_SUCCESS && stream->context->sticky == WS_CUDA_SUCCESS)
            stream->context->sticky = fault;
    }
    sim_retire_head(stream);
}

/* Of all streams, returns the one whose first operation ends earliest, if that end has passed. */
static struct sim_stream *next_due(int64_t now)
{
    struct sim_stream *found = NULL;
    for (struct sim_stream *stream = sim_busy; stream; stream = stream->next_busy) {
        const struct sim_op *op = stream->head;
        if (op->state == SIM_TIMED && op->end <= now) {
            now = op->end;
            found = stream;
        }
    }
    return found;
}

/* Does the real work in the order of the operations' ends, over all streams. So a program with a data race between
 * streams gets the result that a device would give whose operations end at these times. */
void sim_drain(void)
{
    pthread_mutex_lock(&sim_execute_lock);
    pthread_mutex_lock(&sim_lock);
    int64_t now = sim_now();
    struct sim_stream *stream;
    while ((stream = next_due(now)))
        execute_first(stream);
    bool full = sim_truth_full();
    pthread_mutex_unlock(&sim_lock);
    pthread_mutex_unlock(&sim_execute_lock);
    if (full)
        sim_truth_flush();
}

/* With sim_lock held: returns the copy of this number if it is the stream's first operation and its time is known,
 * else NULL. */
static struct sim_op *copy_due(const struct sim_stream *stream, uint64_t number)
{
    struct sim_op *op = stream->head;
    bool is_copy = op && op->number == number && op->work.kind == SIM_WORK_COPY && op->state == SIM_TIMED;
    return is_copy && sim_dependencies_done(op) ? op : NULL;
}

void sim_copy_meanwhile(struct sim_stream *stream, uint64_t number)
{
    sim_finish_through(stream, number - 1);
    pthread_mutex_lock(&sim_lock);
    struct sim_op *op = copy_due(stream, number);
    int64_t start = op ? op->start : 0;
    pthread_mutex_unlock(&sim_lock);
    if (!op)
        return;
    sim_wait_until(start);
    sim_drain(); /* first the work of operations that ended before the copy begins */
    pthread_mutex_lock(&sim_execute_lock);
    pthread_mutex_lock(&sim_lock);
    op = copy_due(stream, number);
    pthread_mutex_unlock(&sim_lock);
    if (op) {
        work_run(&op->work); /* no other thread removes op, because that needs sim_execute_lock */
        op->ran = true;
    }
    pthread_mutex_unlock(&sim_execute_lock);
}
