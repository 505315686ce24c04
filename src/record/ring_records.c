#include "ring_records.h"

/* Returns the number of slots of a valid record of this kind, or 0 if the kind is unknown. */
static unsigned expected_slots(const struct ws_ring_header *header)
{
    switch (header->kind) {
    case WS_RING_PAD:
        return header->slots;
    case WS_RING_COLLECTIVE:
        return 2;
    case WS_RING_PARAMS:
        return ws_ring_params_slots(header->detail & ((1u << WS_RING_PARAM_IMAGE) - 1),
                                    (unsigned)header->detail >> WS_RING_PARAM_IMAGE);
    case WS_RING_OP:
    case WS_RING_CALL:
    case WS_RING_RANGE:
    case WS_RING_STACK:
    case WS_RING_EVENT:
        return 1;
    default:
        return 0;
    }
}

unsigned ws_ring_record_slots(const struct ws_ring *ring, uint64_t at, uint64_t head)
{
    const struct ws_ring_header *header = (const struct ws_ring_header *)ws_ring_slot(ring, at);
    unsigned slots = header->slots;
    uint64_t to_end = ring->mask + 1 - (at & ring->mask);
    return slots && slots == expected_slots(header) && slots <= to_end && slots <= head - at ? slots : 0;
}

struct ws_op ws_ring_op_row(const struct ws_ring_op *record, uint32_t thread, int64_t host_begin, int64_t host_end)
{
    return (struct ws_op){
        .shape = record->header.shape,
        .thread = thread,
        .correlation = record->correlation,
        .host_begin = host_begin,
        .host_end = host_end,
        .flags = record->header.detail & ~(uint32_t)WS_RING_OP_DETAIL,
        .bytes = record->bytes,
        .result = record->result,
    };
}

struct ws_call ws_ring_call_row(const struct ws_ring_call *record, uint32_t thread, int64_t host_begin,
                                int64_t host_end)
{
    return (struct ws_call){
        .function = (uint32_t)record->header.detail + 1,
        .thread = thread,
        .correlation = record->correlation,
        .host_begin = host_begin,
        .host_end = host_end,
        .context = record->header.shape,
        .stream = record->stream,
        .object = record->object,
        .address = record->address,
        .bytes = record->bytes,
        .result = record->result,
    };
}

struct ws_collective ws_ring_collective_row(const struct ws_ring_collective *record, uint32_t thread,
                                            int64_t host_begin, int64_t host_end)
{
    return (struct ws_collective){
        .function = (uint32_t)record->header.detail + 1,
        .thread = thread,
        .correlation = record->correlation,
        .host_begin = host_begin,
        .host_end = host_end,
        .comm = record->comm,
        .stream = record->stream,
        .count = record->count,
        .datatype = record->datatype,
        .reduction = record->reduction,
        .peer = record->peer,
        .sequence = record->sequence,
        .first_launch = record->first_launch,
        .last_launch = record->last_launch,
        .result = record->result,
    };
}

struct ws_range ws_ring_range_row(const struct ws_ring_range *record, uint32_t thread, int64_t host_begin,
                                  int64_t host_end)
{
    return (struct ws_range){
        .name = record->name,
        .thread = thread,
        .host_begin = host_begin,
        .host_end = host_end,
        .kind = record->header.detail,
        .inputs = record->header.shape,
        .number = record->header.detail == WS_RANGE_OPERATOR ? 0 : record->number,
    };
}

struct ws_stack ws_ring_stack_row(const struct ws_ring_stack *record, uint32_t thread, int64_t host_ns)
{
    return (struct ws_stack){
        .frame = record->frame, .thread = thread, .host_ns = host_ns, .shape = record->header.shape
    };
}
