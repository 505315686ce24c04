/* What is in a ring: host times in clock ticks, handles already turned into dictionary ids, device
 * times still in the events named by their marks. Every record is a whole number of slots. */
#ifndef WALLSHIM_RECORD_RING_RECORDS_H
#define WALLSHIM_RECORD_RING_RECORDS_H

#include <stdint.h>

#include "record/record.h"
#include "record/ring.h"

enum ws_ring_kind {
    WS_RING_OP = WS_RING_PAD + 1,
    WS_RING_CALL,
    WS_RING_COLLECTIVE,
    WS_RING_PARAMS, /* of the operation that follows in the same ring */
    WS_RING_RANGE,  /* a stretch of the thread's time with a name */
    WS_RING_MARK,   /* a mark that ends the operations of a stream left without one */
};

/* detail: enum ws_op_flags, without the qualities. */
struct ws_ring_op {
    struct ws_ring_header header;
    uint64_t ticks_begin, ticks_end;
    uint64_t correlation;
    uint64_t bytes;
    uint32_t stream;
    int32_t result;
    uint32_t begin_mark, end_mark; /* 0: none */
    uint32_t copies_before;        /* copies of its direction given to other streams until then */
    uint32_t inner;                /* enum ws_ring_op_inner, and above it WS_RING_OP_LATENESS */
};

/* From bit 5 on: ticks from ticks_end until the end mark was in the stream too. As many as fit. */
enum { WS_RING_OP_LATENESS = 5 };
/* More ticks than there is room for: how late the mark came is not known. */
#define WS_RING_OP_MOST_LATENESS (UINT32_MAX >> WS_RING_OP_LATENESS)

enum ws_ring_op_inner {
    WS_RING_OP_OWN_BEGIN = 1, /* begin_mark was recorded for this operation */
    WS_RING_OP_HAS_PARAMS = 2,
    WS_RING_OP_COUNTED = 16,    /* among the copies of its stream and context */
    WS_RING_OP_ENGINE_BUSY = 8, /* other streams had copies in its direction then */
    WS_RING_OP_HELD = 4,        /* no end mark yet: the next mark of the stream ends it */
};

/* detail: the function's number, enum ws_function_id; header.shape: the context. */
struct ws_ring_call {
    struct ws_ring_header header;
    uint64_t ticks_begin, ticks_end;
    uint64_t correlation;
    uint64_t object, address, bytes;
    uint32_t stream;
    int32_t result;
};

struct ws_ring_collective {
    struct ws_ring_header header; /* detail: the function's number */
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

/* detail: number of words, and from bit WS_RING_PARAM_IMAGE on how many words of 8 bytes follow them: the structures'
 * image, behind the number of its first word. header.shape: the function's dictionary id. */
enum { WS_RING_PARAM_IMAGE = 6 };
struct ws_ring_params {
    struct ws_ring_header header;
    struct ws_param_word words[];
};

/* detail: unused; header.shape: the stream. */
struct ws_ring_mark {
    struct ws_ring_header header;
    uint64_t ticks;
    uint32_t mark;
    uint32_t padding[11];
};

/* header.shape: family label, what the operator was given. */
struct ws_ring_range {
    struct ws_ring_header header;
    uint64_t ticks_begin, ticks_end;
    uint32_t name; /* family label */
    uint32_t padding[9];
};

_Static_assert(sizeof(struct ws_ring_range) == WS_RING_SLOT, "a range is one slot");
_Static_assert(sizeof(struct ws_ring_op) == WS_RING_SLOT, "an operation is one slot");
_Static_assert(sizeof(struct ws_ring_call) == WS_RING_SLOT, "a call is one slot");
_Static_assert(sizeof(struct ws_ring_collective) == 2 * WS_RING_SLOT, "a collective is two slots");
_Static_assert(sizeof(struct ws_ring_mark) == WS_RING_SLOT, "a mark is one slot");
_Static_assert(sizeof(struct ws_param_word) == 16, "four words a slot");
_Static_assert(WS_RING_PARAM_WORDS < 1 << WS_RING_PARAM_IMAGE, "both numbers have room");

/* Slots of the record at this position, below head; 0 where what lies there is no record: then the ring is damaged.
 */
unsigned ws_ring_record_slots(const struct ws_ring *ring, uint64_t at, uint64_t head);

static inline unsigned ws_ring_params_slots(unsigned words, unsigned image)
{
    size_t size = sizeof(struct ws_ring_header) + words * sizeof(struct ws_param_word) + image * sizeof(uint64_t);
    return (unsigned)((size + WS_RING_SLOT - 1) / WS_RING_SLOT);
}

#endif
