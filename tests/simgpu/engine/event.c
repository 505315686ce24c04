#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

static struct sim_event *free_events;

/* All functions of this file need sim_lock. A new event may reuse the memory of a freed one that other threads still
 * read. So the members are set one by one without clearing the memory, and `generation` is not reset. */
ws_CUresult sim_event_create(struct sim_context *context, unsigned flags, struct sim_event **made)
{
    *made = NULL;
    if (context->destroyed)
        return WS_CUDA_ERROR_CONTEXT_IS_DESTROYED;
    struct sim_event *event = free_events;
    if (event)
        free_events = event->next_free;
    else
        event = calloc(1, sizeof(*event));
    if (!event)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    event->context = context;
    event->flags = flags;
    event->recorded = event->timed = false;
    event->stream = NULL;
    event->op = NULL;
    event->capture = NULL;
    event->capture_tips = NULL;
    event->capture_tip_count = 0;
    event->previous_in_context = NULL;
    event->next_in_context = context->events;
    if (context->events)
        context->events->previous_in_context = event;
    context->events = event;
    event->magic = SIM_EVENT;
    *made = event;
    return WS_CUDA_SUCCESS;
}

void sim_event_forget(struct sim_event *event)
{
    if (event->previous_in_context)
        event->previous_in_context->next_in_context = event->next_in_context;
    else
        atomic_load(&event->context)->events = event->next_in_context;
    if (event->next_in_context)
        event->next_in_context->previous_in_context = event->previous_in_context;
    free(event->capture_tips);
    event->magic = 0;
    event->generation++; /* a record that is still queued no longer gives a time */
    event->next_free = free_events;
    free_events = event;
}

/* Called when a record of the event was queued: from now on this record gives the event its time. */
void sim_event_recorded(struct sim_op *op)
{
    struct sim_event *event = op->work.event.event;
    op->work.event.generation = ++event->generation;
    event->recorded = true;
    event->timed = false;
    event->capture = NULL;
    event->stream = op->stream;
    event->number = op->number;
    event->op = op;
}

void sim_event_settle(const struct sim_op *op)
{
    struct sim_event *event = op->work.event.event;
    if (event->generation != op->work.event.generation)
        return;
    event->timed = true;
    event->end = op->end;
    int64_t exact = sim_device_time(op->stream->context->device, op->end);
    event->device_time = exact - exact % sim_config.event_resolution_ns;
}

void sim_event_wait(struct sim_op *op, const struct sim_event *event)
{
    if (event->recorded && event->stream->done < event->number)
        sim_depend(op, event->op);
}
