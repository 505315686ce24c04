/* The operations of a process in columns, 27 bytes per operation, because there may be tens of millions.
 *
 * Lengths and other values that nearly always fit 32 bits are stored in 32 bits; the few larger values are stored in
 * a map. Use the functions below, not the columns. */
#ifndef WALLSHIM_MODEL_OPS_H
#define WALLSHIM_MODEL_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vector.h"
#include "model/sparse.h"
#include "model/times.h"
#include "record/op_columns.h"
#include "record/record.h"

/* The columns that are arrays with one element per operation. The operations are in the order of the file. */
#define WS_OP_COLUMNS(C)                                        \
    C(uint32_t, length)                                         \
    C(uint32_t, host_length)                                    \
    C(uint32_t, shape)       /* index into ws_process.shapes */ \
    C(uint16_t, begin_error) /* encoded by ws_error_keep */     \
    C(uint16_t, end_error)                                      \
    C(uint16_t, flags) /* enum ws_op_flags and enum ws_op_model_flags */

struct ws_ops {
    size_t count;
    size_t capacity;
#define COLUMN(type, name) type *name;
    WS_OP_COLUMNS(COLUMN)
#undef COLUMN
    /* The start of each operation on the device. In a loaded model, these times are on the host's clock. A start is
     * valid only if ws_op_is_timed. */
    struct ws_times begin;
    struct ws_times host_begin;
    /* 1 + the last row whose start on the device became the base of its block (model/times.h). */
    size_t based;
    struct ws_vector threads;     /* uint32_t: the threads' identifiers in the trace */
    struct ws_map thread_numbers; /* 1 + identifier of a thread → 1 + index in `threads` */
    /* Index of each row's thread in `threads`; stored only for rows whose thread differs from the row before. */
    struct ws_sparse row_threads;
    uint32_t last_thread;          /* identifier of the last row's thread */
    struct ws_map wide;            /* lengths that do not fit 32 bits, by operation and column */
    struct ws_sparse correlations; /* correlation − row number; stored where it differs from the row before */
    uint64_t last_correlation;     /* correlation − row number of the last row */
    struct ws_sparse bytes;        /* bytes moved; most operations move none */
    struct ws_sparse params;       /* identifiers of the kernels' recorded parameters; few rows have any */
    struct ws_sparse counted;      /* 1 for rows with WS_OP_COUNTED; few rows have this flag */
    uint64_t odd_times;            /* number of host times that were beyond ± WS_TIME_MOST and were clamped */
    struct ws_prefault *ahead;     /* the thread that faults in memory for later rows */
};

/* The largest absolute value of a time. Sums and differences of two times and their errors fit 64 bits. */
#define WS_TIME_MOST ((int64_t)1 << 61)

/* Flags that loading adds to the flags of the trace. */
enum ws_op_model_flags {
    WS_OP_OF_TRACE = 0xfff,   /* the bits that the trace sets: enum ws_op_flags, except WS_OP_COUNTED */
    WS_OP_TIMED = 0x1000,     /* the operation has a valid start and end on its device */
    WS_OP_BACKWARDS = 0x2000, /* the operation had impossible times: end before begin, or beyond WS_TIME_MOST */
    WS_OP_FAILED = 0x4000,    /* the driver returned an error: nothing ran */
    WS_OP_CALLED = 0x8000     /* the host call that made the operation is known */
};

enum ws_op_wide { WS_WIDE_LENGTH, WS_WIDE_HOST_LENGTH, WS_WIDE_COUNT };
#define WS_NARROW_MOST UINT32_MAX

/* Appends the rows of operations. `expected` is an estimate of the total number of rows. The first call reserves
 * memory for `expected` rows. Returns 0, -ENOMEM, or -EFBIG if there are more rows than 32-bit indices. */
int ws_ops_add(struct ws_ops *ops, const struct ws_op_columns *rows, uint32_t count, size_t expected);

/* Announces the total number of rows that will be added. A helper thread then faults in memory for the later rows
 * while earlier rows are added. Does nothing if there are few rows. */
void ws_ops_expect(struct ws_ops *ops, size_t count);

/* Stops the helper thread of ws_ops_expect. Call this function after all rows were added. */
void ws_ops_complete(struct ws_ops *ops);

/* Changes the interval (start and end on the device) of an operation. Returns 0 or -ENOMEM. */
int ws_ops_set_interval(struct ws_ops *ops, size_t op, int64_t begin, int64_t end);

static inline bool ws_op_fit_length(uint32_t *narrow, int64_t length)
{
    bool fits = length >= 0 && length < WS_NARROW_MOST;
    *narrow = fits ? (uint32_t)length : WS_NARROW_MOST;
    return fits;
}

/* Changes the interval (start and end on the device) of an operation if it can be stored without allocating memory.
 * Otherwise returns false and leaves the operation without a valid interval. */
static inline bool ws_ops_fit_interval(struct ws_ops *ops, size_t op, int64_t begin, int64_t end)
{
    return ws_times_fit(&ops->begin, op, begin) && ws_op_fit_length(&ops->length[op], end - begin);
}

void ws_ops_finish(struct ws_ops *ops);

/* Clamps a host time to ± WS_TIME_MOST. Increments *odd if the time was outside this range. */
int64_t ws_clamp_time(int64_t time, uint64_t *odd);

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

/* Returns the operation's duration on the device, in ns. */
static inline int64_t ws_op_length(const struct ws_ops *ops, size_t op)
{
    uint32_t length = ops->length[op];
    return length != WS_NARROW_MOST ? length : ws_ops_wide_value(ops, op, WS_WIDE_LENGTH);
}

static inline int64_t ws_op_end(const struct ws_ops *ops, size_t op)
{
    return ws_op_begin(ops, op) + ws_op_length(ops, op);
}

/* The error of a time is stored like a floating-point number: 11 bits of mantissa (digits) and 5 bits of exponent
 * (shift). The stored error is rounded up, by at most 0.1 %, because an error is an upper limit. */
enum { WS_ERROR_DIGITS = 11 };

uint16_t ws_error_keep(uint32_t error_ns);

static inline int64_t ws_error_ns(uint16_t kept)
{
    return (int64_t)(kept & ((1 << WS_ERROR_DIGITS) - 1)) << (kept >> WS_ERROR_DIGITS);
}

/* The maximum error of the operation's begin, in ns. */
static inline int64_t ws_op_begin_error(const struct ws_ops *ops, size_t op)
{
    return ws_error_ns(ops->begin_error[op]);
}

/* The maximum error of the operation's end, in ns. */
static inline int64_t ws_op_end_error(const struct ws_ops *ops, size_t op)
{
    return ws_error_ns(ops->end_error[op]);
}

/* Returns the duration of the host call that made the operation, in ns. */
static inline int64_t ws_op_host_length(const struct ws_ops *ops, size_t op)
{
    uint32_t length = ops->host_length[op];
    return length != WS_NARROW_MOST ? length : ws_ops_wide_value(ops, op, WS_WIDE_HOST_LENGTH);
}

static inline int64_t ws_op_host_end(const struct ws_ops *ops, size_t op)
{
    return ws_op_host_begin(ops, op) + ws_op_host_length(ops, op);
}

/* Returns whether the call that made the operation is known. Some imported traces lack calls. Without a call, both
 * host times of an operation equal its start on the device. */
static inline bool ws_op_has_call(const struct ws_ops *ops, size_t op)
{
    return ops->flags[op] & WS_OP_CALLED;
}

/* Returns the index of the operation's thread in ws_ops.threads. */
static inline uint32_t ws_op_thread_place(const struct ws_ops *ops, size_t op)
{
    return (uint32_t)*ws_sparse_last(&ops->row_threads, op);
}

/* Returns the thread's identifier in the trace, or 0 if the call that made the operation is unknown. */
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

/* Returns whether hardware counters were read around the operation. Reading the counters changes the operation's
 * times. */
static inline bool ws_op_is_counted(const struct ws_ops *ops, size_t op)
{
    return ws_sparse_get(&ops->counted, op) != NULL;
}

/* Returns the identifier of the operation's parameters in ws_process.params, or 0 if none were recorded. */
static inline uint32_t ws_op_params(const struct ws_ops *ops, size_t op)
{
    const uint64_t *params = ws_sparse_get(&ops->params, op);
    return params ? (uint32_t)*params : 0;
}

#endif
