/* The records in a ring. Host times are in clock ticks (base/clock.h). Handles of the driver are already replaced by
 * dictionary ids. Device times are not known yet: the records hold the numbers of the CUDA events that will give the
 * times. Each record is a whole number of slots. */
#ifndef WALLSHIM_RECORD_RING_RECORDS_H
#define WALLSHIM_RECORD_RING_RECORDS_H

#include <stdint.h>

#include "record/record.h"
#include "record/ring.h"

enum ws_ring_kind {
    WS_RING_OP = WS_RING_PAD + 1,
    WS_RING_CALL,
    WS_RING_COLLECTIVE,
    WS_RING_PARAMS, /* parameters of the next operation in the same ring */
    WS_RING_RANGE,  /* a named time range of the thread */
    WS_RING_STACK,  /* the thread's stack at a call: the place in the program that made the call */
    WS_RING_EVENT,  /* an event recorded after operations without an end event: it is the end event of all of them */
};

/* header.detail: enum ws_op_flags. The device times' qualities are not known yet, so the bits WS_OP_BEGIN_QUALITY and
 * WS_OP_END_QUALITY hold enum ws_ring_op_detail instead. */
struct ws_ring_op {
    struct ws_ring_header header;
    uint64_t ticks_begin, ticks_end;
    uint64_t correlation;
    uint64_t bytes;
    uint32_t stream;
    int32_t result;
    uint32_t begin_event, end_event; /* numbers of the CUDA events; 0: none */
    uint32_t copies_before; /* number of earlier copies in the same direction on other streams of the context */
    uint32_t inner;         /* enum ws_ring_op_inner; from bit WS_RING_OP_LATENESS on: lateness of the end event */
};

/* The bits of `inner` from bit 5 on hold the lateness of the end event: the ticks from ticks_end until the event was
 * in the stream. Lateness that does not fit saturates. */
enum { WS_RING_OP_LATENESS = 5 };
/* The largest lateness that fits. This value means that the lateness is unknown or larger. */
#define WS_RING_OP_MOST_LATENESS (UINT32_MAX >> WS_RING_OP_LATENESS)

enum ws_ring_op_detail {
    WS_RING_OP_COMPUTED = 1, /* the drain computes the device times if the operation has no events */
    WS_RING_OP_GATED = 2,    /* the shim stopped the stream until begin_event and end_event were in it */
    WS_RING_OP_WAITED = 4,   /* more than the launch and the stream's earlier work may have delayed the operation */
    WS_RING_OP_DETAIL = WS_RING_OP_COMPUTED | WS_RING_OP_GATED | WS_RING_OP_WAITED,
};

enum ws_ring_op_inner {
    WS_RING_OP_OWN_BEGIN = 1, /* begin_event was recorded for this operation alone */
    WS_RING_OP_HAS_PARAMS = 2,
    WS_RING_OP_COUNTED = 16,    /* the shim counted the operation among the copies of its stream and context */
    WS_RING_OP_ENGINE_BUSY = 8, /* other streams of the context had unfinished copies in the same direction */
    WS_RING_OP_HELD = 4,        /* has no end event of its own: the stream's next event serves as end event */
};

/* header.detail: the function's number, enum ws_function_id. header.shape: id of the call's context. */
struct ws_ring_call {
    struct ws_ring_header header;
    uint64_t ticks_begin, ticks_end;
    uint64_t correlation;
    uint64_t object, address, bytes;
    uint32_t stream;
    int32_t result;
};

struct ws_ring_collective {
    struct ws_ring_header header; /* detail: number of the NCCL function, enum ws_function_id */
    uint64_t ticks_begin, ticks_end;
    uint64_t correlation;
    uint64_t count, sequence;
    uint64_t first_launch, last_launch;
    uint32_t stream, comm;
    uint32_t datatype, reduction;
    int32_t peer, result;
    uint64_t padding[5];
};

enum { WS_RING_PARAM_WORDS = 32 };

/* header.detail holds two numbers. Its lower WS_RING_PARAM_IMAGE bits are the length of words[]. Its upper bits are
 * the number of uint64_t that follow words[]; 0: none. These uint64_t hold the image of the structure parameters
 * (param_image.h): the number of the image's first word, then the image's words. header.shape: the function's
 * dictionary id. */
enum { WS_RING_PARAM_IMAGE = 6 };
struct ws_ring_params {
    struct ws_ring_header header;
    struct ws_param_word words[];
};

/* header.detail: unused. header.shape: id of the stream in which the event was recorded. */
struct ws_ring_event {
    struct ws_ring_header header;
    uint64_t ticks;
    uint32_t event;
    uint32_t padding[11];
};

/* header.detail: enum ws_range_kind. header.shape: id in family `label` of an operator's inputs, or 0. */
struct ws_ring_range {
    struct ws_ring_header header;
    uint64_t ticks_begin, ticks_end;
    uint64_t number; /* number of a step or annotation (column `number` of family `range`); unused for operators */
    uint32_t name;   /* id in family `label` of the range's name */
    uint32_t padding[7];
};

/* header.shape: id of the shape of the operation that the call launched, or 0. */
struct ws_ring_stack {
    struct ws_ring_header header;
    uint64_t ticks;
    uint32_t frame; /* id in family `frame` of the innermost frame */
    uint32_t padding[11];
};

_Static_assert(sizeof(struct ws_ring_stack) == WS_RING_SLOT, "a stack is one slot");
_Static_assert(sizeof(struct ws_ring_range) == WS_RING_SLOT, "a range is one slot");
_Static_assert(sizeof(struct ws_ring_op) == WS_RING_SLOT, "an operation is one slot");
_Static_assert(sizeof(struct ws_ring_call) == WS_RING_SLOT, "a call is one slot");
_Static_assert(sizeof(struct ws_ring_collective) == 2 * WS_RING_SLOT, "a collective is two slots");
_Static_assert(sizeof(struct ws_ring_event) == WS_RING_SLOT, "an event is one slot");
_Static_assert(sizeof(struct ws_param_word) == 16, "four words a slot");
_Static_assert(WS_RING_PARAM_WORDS < 1 << WS_RING_PARAM_IMAGE, "both numbers have room");

/* Returns the number of slots of the record at position `at`, which must be below `head`. Returns 0 if the record is
 * not valid: the ring is then damaged. */
unsigned ws_ring_record_slots(const struct ws_ring *ring, uint64_t at, uint64_t head);

/* Each function turns a ring record into a row of the trace, and returns the row. The caller passes the
 * record's times, converted from ticks to ns of the host's clock. The rows of operations do not hold the parameters
 * and device times yet. */
struct ws_op ws_ring_op_row(const struct ws_ring_op *record, uint32_t thread, int64_t host_begin, int64_t host_end);
struct ws_call ws_ring_call_row(const struct ws_ring_call *record, uint32_t thread, int64_t host_begin,
                                int64_t host_end);
struct ws_collective ws_ring_collective_row(const struct ws_ring_collective *record, uint32_t thread,
                                            int64_t host_begin, int64_t host_end);
struct ws_range ws_ring_range_row(const struct ws_ring_range *record, uint32_t thread, int64_t host_begin,
                                  int64_t host_end);
struct ws_stack ws_ring_stack_row(const struct ws_ring_stack *record, uint32_t thread, int64_t host_ns);

static inline unsigned ws_ring_params_slots(unsigned words, unsigned image)
{
    size_t size = sizeof(struct ws_ring_header) + words * sizeof(struct ws_param_word) + image * sizeof(uint64_t);
    return (unsigned)((size + WS_RING_SLOT - 1) / WS_RING_SLOT);
}

#endif
