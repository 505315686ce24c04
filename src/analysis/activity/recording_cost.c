#include "analysis/activity/recording_cost.h"

#include <errno.h>
#include <stdlib.h>

#include "base/minmax.h"

struct thread_span {
    int64_t first, last;
};

/* Adds up, over all threads, the time from a thread's first operation to its last one. */
static int threads_time(const struct ws_ops *ops, int64_t *sum)
{
    struct thread_span *spans = calloc(ops->threads.count + 1, sizeof(*spans));
    if (!spans)
        return -ENOMEM;
    for (size_t i = 0; i < ops->count; i++) {
        struct thread_span *span = &spans[ws_op_thread_place(ops, i)];
        int64_t begin = ws_op_host_begin(ops, i), end = begin + ws_op_host_length(ops, i);
        span->first = span->last ? ws_min(span->first, begin) : begin;
        span->last = ws_max(span->last, end);
    }
    for (size_t i = 0; i < ops->threads.count; i++)
        *sum += spans[i].last - spans[i].first;
    free(spans);
    return 0;
}

int ws_recording_cost(const struct ws_process *process, struct ws_recording_cost *cost)
{
    const char *events = ws_process_meta(process, "cost_events_ns");
    const char *record = ws_process_meta(process, "cost_record_ns");
    *cost = (struct ws_recording_cost){ 0 };
    if (!events || !record || !process->ops.count)
        return 0;
    cost->known = true;
    cost->events = ws_max(strtoll(events, NULL, 10), 0LL);
    cost->records =
        ws_clamp(strtoll(record, NULL, 10), 0LL, 1000LL) * (int64_t)(process->ops.count + process->calls.count);
    return threads_time(&process->ops, &cost->threads);
}

const char *ws_recording_cost_share(const struct ws_recording_cost *cost, char share[WS_FORMAT_SIZE])
{
    if (!cost->known || cost->threads <= 0)
        return NULL;
    return ws_format_share(share, cost->events + cost->records, cost->threads);
}

void ws_recording_cost_text(const struct ws_recording_cost *cost, struct ws_page *page)
{
    char share[WS_FORMAT_SIZE], events[WS_FORMAT_SIZE], records[WS_FORMAT_SIZE];
    if (!ws_recording_cost_share(cost, share))
        return;
    ws_page_fact(page, "recording cost",
                 "%s of the launching threads' time: %s for events (measured), %s for records "
                 "(about)",
                 share, ws_format_time(events, cost->events), ws_format_time(records, cost->records));
}

int ws_recording_cost_json(const struct ws_recording_cost *cost, json_t *object)
{
    json_t *costs = cost->known ? json_object() : NULL;
    if (!cost->known)
        return 0;
    int status = json_object_set_new(object, "recording_cost", costs);
    status |= ws_json_set(costs, "events_ns", cost->events);
    status |= ws_json_set(costs, "records_ns", cost->records);
    status |= ws_json_set(costs, "threads_ns", cost->threads);
    return status ? -ENOMEM : 0;
}
