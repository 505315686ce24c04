/* Details of calls that an imported file stores separately from the calls: the stream or event of a call, or the
 * memory that the call allocated. */
#include <errno.h>

#include "base/salted.h"
#include "input/gather.h"

static struct ws_gather_detail *detail_at(const struct ws_gather *gather, size_t index)
{
    return (struct ws_gather_detail *)gather->details.data + index;
}

static void details_add(struct ws_gather_detail *known, const struct ws_gather_detail *more)
{
    if (!known->address) {
        known->address = more->address;
        known->bytes = more->bytes;
    }
    if (!known->object) {
        known->object = more->object;
        known->records = more->records;
        known->waits = more->waits;
    }
    if (!known->context)
        known->context = more->context;
    if (!known->stream)
        known->stream = more->stream;
    if (!known->result)
        known->result = more->result;
}

void ws_gather_detail(struct ws_gather *gather, const struct ws_gather_detail *detail)
{
    uint64_t *place = gather->error ? NULL : ws_salted_put(&gather->detail_of, detail->correlation);
    struct ws_gather_detail *fresh = place && !*place ? ws_vector_push(&gather->details) : NULL;
    if (place && *place) {
        details_add(detail_at(gather, *place - 1), detail);
    } else if (fresh) {
        *fresh = *detail;
        *place = gather->details.count;
    } else {
        gather->error = -ENOMEM;
    }
}

const struct ws_gather_detail *ws_gather_use_detail(struct ws_gather *gather, uint64_t correlation)
{
    const uint64_t *place = correlation ? ws_salted_get(&gather->detail_of, correlation) : NULL;
    struct ws_gather_detail *detail = place && *place ? detail_at(gather, *place - 1) : NULL;
    if (!detail || detail->used)
        return NULL;
    detail->used = true;
    /* A call that waits for an event keeps the event's number only if an earlier call in the file recorded the event.
     * Without such a call, the event may have been recorded by another process, or by a call that the file lacks. The
     * number could then stand for a different event. */
    if (detail->records && !ws_salted_put(&gather->recorded, detail->object))
        gather->error = -ENOMEM;
    if (detail->waits && !ws_salted_get(&gather->recorded, detail->object))
        detail->object = 0;
    return detail;
}

uint64_t ws_gather_lone_details(struct ws_gather *gather)
{
    uint64_t count = 0;
    for (size_t i = 0; i < gather->details.count; i++) {
        struct ws_gather_detail *detail = detail_at(gather, i);
        count += detail->address && !detail->used;
        detail->used = true;
    }
    return count;
}
