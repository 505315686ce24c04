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
