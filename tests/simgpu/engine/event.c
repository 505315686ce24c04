#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

static struct sim_event *free_events;

/* With sim_lock held, as all here. */
struct sim_event *sim_event_create(struct sim_context *context, unsigned flags)
{
    struct sim_event *event = free_events;
    uint64_t generation = 0;
    if (event) {
        free_events = event->next_free;
        generation = event->generation;
    } else {
        event = malloc(sizeof(*event));
        if (!event)
            return NULL;
    }
    memset(event, 0, sizeof(*event));
    event->magic = SIM_EVENT;
    event->generation = generation;
    event->context = context;
    event->flags = flags;
    event->next_in_context = context->events;
    if (context->events)
        context->events->previous_in_context = event;
    context->events = event;
    return event;
}

void sim_event_forget(struct sim_event *event)
{
    if (event->previous_in_context)
        event->previous_in_context->next_in_context = event->next_in_context;
    else
        event->context->events = event->next_in_context;
    if (event->next_in_context)
        event->next_in_context->previous_in_context = event->previous_in_context;
    free(event->capture_tips);
    event->magic = 0;
    event->generation++; /* a record still queued no longer counts */
    event->next_free = free_events;
    free_events = event;
}

/* The record just queued is the one that counts from now on. */
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
