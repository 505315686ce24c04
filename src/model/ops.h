/* The operations of a process, column by column: 27 bytes each, for there may be tens of millions.
 *
 * Lengths, and what else fits 32 bits all but always, are kept so; the few values that do not fit are
 * kept aside. Use the functions below rather than those columns.
 */
#ifndef WALLSHIM_MODEL_OPS_H
#define WALLSHIM_MODEL_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vector.h"
#include "model/sparse.h"
#include "model/times.h"
#include "record/record.h"

/* An element a row, in the order of the file. */
#define WS_OP_COLUMNS(C)                                        \
    C(uint32_t, length)                                         \
    C(uint32_t, host_length)                                    \
    C(uint32_t, shape)       /* index into ws_process.shapes */ \
    C(uint16_t, begin_error) /* of ws_error_keep */             \
    C(uint16_t, end_error)                                      \
    C(uint16_t, flags) /* enum ws_op_flags and enum ws_op_model_flags */

struct ws_ops {
    size_t count;
    size_t capacity;
#define COLUMN(type, name) type *name;
    WS_OP_COLUMNS(COLUMN)
#undef COLUMN
    /* Device times are on the host's clock once the model is loaded, and mean something only where ws_op_is_timed
     * says so. */
    struct ws_times begin;
    struct ws_times host_begin;
    size_t based;                  /* rows whose block has had an interval, which its base of begins is near to */
    struct ws_vector threads;      /* uint32_t: identifiers in the trace */
    struct ws_map thread_numbers;  /* identifier + 1 → index + 1 */
    struct ws_sparse row_threads;  /* indices into threads, where not as in the row before */
    uint32_t last_thread;          /* of them: the identifier */
    struct ws_map wide;            /* what fits no 32 bits, by operation and column */
    struct ws_sparse correlations; /* less the row, where that is not as in the row before */
    uint64_t last_correlation;     /* of them */
    struct ws_sparse bytes;        /* moved; most move none */
    struct ws_sparse params;       /* identifiers of parameters; few are kept */
    struct ws_sparse counted;      /* 1: WS_OP_COUNTED; few are */
    uint64_t odd_times;            /* host times that cannot be, brought to WS_TIME_MOST */
    struct ws_ahead *ahead;        /* finds memory for rows to come */
};

/* No time lies further from 0 than this, so that sums and differences of two, and of errors, fit. */
#define WS_TIME_MOST ((int64_t)1 << 61)

/* Bits that loading adds to the flags of the trace. */
enum ws_op_model_flags {
    WS_OP_OF_TRACE = 0xfff,   /* enum ws_op_flags, but for WS_OP_COUNTED */
    WS_OP_TIMED = 0x1000,     /* has an interval on its device */
    WS_OP_BACKWARDS = 0x2000, /* had times that cannot be: an end before the begin, or centuries away */
    WS_OP_FAILED = 0x4000,    /* the driver answered with an error: nothing ran */
    WS_OP_CALLED = 0x8000     /* the call is known that made it */
};

enum ws_op_wide { WS_WIDE_LENGTH, WS_WIDE_HOST_LENGTH, WS_WIDE_COUNT };
#define WS_NARROW_MOST UINT32_MAX

/* Adds rows; expected is how many there may be in all, to make room for at once. Returns 0, -ENOMEM, or
 * -EFBIG when there are more than indices can name. */
int ws_ops_add(struct ws_ops *ops, const struct ws_op *rows, uint32_t count, size_t expected);

/* Says that there will be about so many rows: a thread finds memory for them while they are read. Does
 * nothing where it is not worth it. */
void ws_ops_expect(struct ws_ops *ops, size_t count);

/* Says that all rows are there. */
void ws_ops_complete(struct ws_ops *ops);

/* Moves an operation to another interval. Returns 0 or -ENOMEM. */
int ws_ops_set_interval(struct ws_ops *ops, size_t op, int64_t begin, int64_t end);

static inline bool ws_op_fit_length(uint32_t *narrow, int64_t length)
{
    bool fits = length >= 0 && length < WS_NARROW_MOST;
    *narrow = fits ? (uint32_t)length : WS_NARROW_MOST;
    return fits;
}

/* The same where that needs no memory; false where it does, and then the operation has no interval. */
static inline bool ws_ops_fit_interval(struct ws_ops *ops, size_t op, int64_t begin, int64_t end)
{
    return ws_times_fit(&ops->begin, op, begin) && ws_op_fit_length(&ops->length[op], end - begin);
}

void ws_ops_finish(struct ws_ops *ops);

/* A host time made to fit WS_TIME_MOST; counts those that did not. */
int64_t ws_tame_time(int64_t time, uint64_t *odd);

int64_t ws_ops_wide_value(const struct ws_ops *ops, size_t op, enum ws_op_wide column);

static inline bool ws_op_is_timed(const struct ws_ops *ops, size_t op)
{
    return ops->flags[op] & WS_OP_TIMED;
}

static inline int64_t ws_op_begin(const struct ws_ops *ops, size_t op)
{
    return ws_times_get(&ops->begin, op);
}

static inline int64_t ws_op_host_begin(const struct ws_ops *ops, size_t op)
{
    return ws_times_get(&ops->host_begin, op);
}

/* On the device. */
static inline int64_t ws_op_length(const struct ws_ops *ops, size_t op)
{
    uint32_t length = ops->length[op];
    return length != WS_NARROW_MOST ? length : ws_ops_wide_value(ops, op, WS_WIDE_LENGTH);
}

static inline int64_t ws_op_end(const struct ws_ops *ops, size_t op)
{
    return ws_op_begin(ops, op) + ws_op_length(ops, op);
}

/* An error in 16 bits: five of them say by how many places the other eleven are shifted. Rounded up, by a thousandth
 * at most, for it is a bound. */
enum { WS_ERROR_DIGITS = 11 };

uint16_t ws_error_keep(uint32_t error_ns);

static inline int64_t ws_error_ns(uint16_t kept)
{
    return (int64_t)(kept & ((1 << WS_ERROR_DIGITS) - 1)) << (kept >> WS_ERROR_DIGITS);
}

/* What its begin and its end may be wrong by at most, in ns. */
static inline int64_t ws_op_begin_error(const struct ws_ops *ops, size_t op)
{
    return ws_error_ns(ops->begin_error[op]);
}

static inline int64_t ws_op_end_error(const struct ws_ops *ops, size_t op)
{
    return ws_error_ns(ops->end_error[op]);
}

/* Of the call that made it. */
static inline int64_t ws_op_host_length(const struct ws_ops *ops, size_t op)
{
    uint32_t length = ops->host_length[op];
    return length != WS_NARROW_MOST ? length : ws_ops_wide_value(ops, op, WS_WIDE_HOST_LENGTH);
}

static inline int64_t ws_op_host_end(const struct ws_ops *ops, size_t op)
{
    return ws_op_host_begin(ops, op) + ws_op_host_length(ops, op);
}

/* Is the call known that made it? Imported traces may hold operations alone: their host times are then
 * when they began. */
static inline bool ws_op_has_call(const struct ws_ops *ops, size_t op)
{
    return ops->flags[op] & WS_OP_CALLED;
}

/* The place of its thread in ws_ops.threads. */
static inline uint32_t ws_op_thread_place(const struct ws_ops *ops, size_t op)
{
    return (uint32_t)*ws_sparse_last(&ops->row_threads, op);
}

/* Its thread's identifier in the trace; 0 when the trace does not know the host's side of the operation, whose
 * host times then mean nothing. */
static inline uint32_t ws_op_thread(const struct ws_ops *ops, size_t op)
{
    return ((const uint32_t *)ops->threads.data)[ws_op_thread_place(ops, op)];
}

static inline uint64_t ws_op_correlation(const struct ws_ops *ops, size_t op)
{
    return *ws_sparse_last(&ops->correlations, op) + op;
}

static inline uint64_t ws_op_bytes(const struct ws_ops *ops, size_t op)
{
    const uint64_t *bytes = ws_sparse_get(&ops->bytes, op);
    return bytes ? *bytes : 0;
}

/* Were hardware counters read around it? Then its times are not the program's own. */
static inline bool ws_op_is_counted(const struct ws_ops *ops, size_t op)
{
    return ws_sparse_get(&ops->counted, op) != NULL;
}

/* Identifier in ws_process.params; 0 when they were not kept. */
static inline uint32_t ws_op_params(const struct ws_ops *ops, size_t op)
{
    const uint64_t *params = ws_sparse_get(&ops->params, op);
    return params ? (uint32_t)*params : 0;
}

#endif
