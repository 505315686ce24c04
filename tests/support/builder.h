/* Made-up traces. A test states which operations ran at which times; everything else has defaults. At its first use,
 * a function, label or shape gets an identifier and a row in the trace. Device times are in ns of the device's clock,
 * all other times in ns of the host's clock. */
#ifndef WALLSHIM_TESTS_BUILDER_H
#define WALLSHIM_TESTS_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

enum { BUILD_NAMES = 256, BUILD_CALLS = 64, BUILD_SHAPES = 512 };

/* A trace that is being written. */
struct builder {
    struct ws_writer *writer;
    int64_t clock_offset;           /* host time − device time, of the latest build_device */
    uint64_t launches, collectives; /* number so far, and so the last ids */
    uint32_t functions, driver_functions, shapes, labels, params; /* the last identifiers that were assigned */
    const char *names[BUILD_NAMES], *driver_names[BUILD_CALLS];   /* by identifier - 1; not copied */
    struct ws_shape known[BUILD_SHAPES];
};

/* Creates the file at path. If this or another function of this header fails, the program ends with status 99. */
void build_begin(struct builder *builder, const char *path);

/* Closes the file. */
void build_end(struct builder *builder);

/* Adds any row unchanged. */
void build_row(struct builder *builder, enum ws_family family, const void *row);

/* Adds a fact about the recording (WS_FAMILY_meta). With value NULL nothing is added. */
void build_meta(struct builder *builder, const char *key, const char *value);

/* Adds a device (1, 2 …) with one context of the same number. The device's time 0 is `offset` on the host's clock, ±
 * `error` ns. */
void build_device(struct builder *builder, uint32_t device, const char *name, int64_t offset, uint32_t error);
void build_stream(struct builder *builder, uint32_t stream, uint32_t context);
void build_thread(struct builder *builder, uint32_t thread, uint32_t tid, const char *name);

/* Return the identifier of a name or content; a new one gets its row. build_shape fills in the shape's identifier. */
uint32_t build_function(struct builder *builder, const char *name);
uint32_t build_driver_function(struct builder *builder, const char *name, enum ws_call_family family);
uint32_t build_shape(struct builder *builder, const struct ws_shape *shape);
uint32_t build_params(struct builder *builder, const struct ws_param_word *words, uint32_t count);

/* A kernel or a copy, and the call that launched it. */
struct launch {
    const char *kernel;      /* its name; NULL: a copy */
    enum ws_space from, to;  /* kinds of memory of a copy; both 0: from pinned memory to the device */
    const char *call;        /* the driver function; NULL: cuLaunchKernel or cuMemcpyAsync */
    uint32_t stream, thread; /* 0 means 1 */
    uint32_t grid, block;    /* of a kernel, along x; 0: 64 and 256 */
    uint32_t params;         /* an identifier from build_params */
    uint64_t bytes;
    int64_t begin, end;           /* on the device */
    int64_t host_begin, host_end; /* of the call; both 0: the call lasts from 10 to 6 µs before `begin` */
    uint32_t error;               /* the error that the trace states for begin and end */
    uint32_t flags;               /* WS_OP_… flags to add; begin and end are always flagged as measured */
};

/* Return a row that is not added to the trace: the caller can change fields that struct launch lacks, and adds the
 * row with build_row. build_op_of takes a complete shape and has the same defaults. */
struct ws_op build_op(struct builder *builder, const struct launch *launch);
struct ws_op build_op_of(struct builder *builder, uint32_t shape, int64_t begin, int64_t end);

/* Adds the operation. Returns its shape. */
uint32_t build_launch(struct builder *builder, const struct launch *launch);

/* Short forms of build_launch for a kernel and a copy. */
void build_kernel(struct builder *builder, uint32_t stream, const char *name, int64_t begin, int64_t end);
void build_copy(struct builder *builder, uint32_t stream, enum ws_space from, enum ws_space to, uint64_t bytes,
                int64_t begin, int64_t end);

/* Adds a driver call that launches nothing. The row's function, correlation and (if 0) thread are filled in. */
void build_call_row(struct builder *builder, const char *function, enum ws_call_family family,
                    const struct ws_call *row);
void build_call(struct builder *builder, const char *function, enum ws_call_family family, int64_t begin,
                int64_t end);

/* Adds a named range of a thread's time. */
void build_range(struct builder *builder, enum ws_range_kind kind, uint32_t thread, const char *name, int64_t begin,
                 int64_t end);

/* Adds a kernel on stream 1, launched by thread 1 inside a range for an operator with these inputs. The operator
 * lasts from 100 ns before the launch's begin to 100 ns after it. */
void build_operator(struct builder *builder, const char *operator, const char * inputs, const char *kernel,
                    int64_t begin, int64_t length);

/* Add a communicator of device 1, and an NCCL call that launches one kernel on stream 2. */
void build_comm(struct builder *builder, uint32_t id, uint32_t rank, uint32_t size, uint64_t hash);
void build_collective(struct builder *builder, const char *function, uint32_t comm, uint64_t sequence, uint64_t count,
                      int64_t begin, int64_t end);

/* Adds the next all-reduce of communicator 1. */
void build_all_reduce(struct builder *builder, int64_t begin, int64_t end);

#endif
