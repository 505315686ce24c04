/* Made-up traces: a test says what ran when, and leaves out what does not matter to it. What is named for the first
 * time gets its identifier and its row. Device times are in ns of the device's clock, all others in ns of the host's.
 */
#ifndef WALLSHIM_TESTS_BUILDER_H
#define WALLSHIM_TESTS_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

enum { BUILD_NAMES = 256, BUILD_CALLS = 64, BUILD_SHAPES = 512 };

/* A trace that is being written. */
struct builder {
    struct ws_writer *writer;
    int64_t clock_offset;           /* host time − device time, of the device named last */
    uint64_t launches, collectives; /* numbered so far: the last correlation, the last all-reduce */
    uint32_t functions, driver_functions, shapes, labels, params; /* their last identifiers */
    const char *names[BUILD_NAMES], *driver_names[BUILD_CALLS];   /* by identifier - 1; not copied */
    struct ws_shape known[BUILD_SHAPES];
};

/* Creates the file at path. Every failure here and below ends the program with status 99. */
void build_begin(struct builder *builder, const char *path);

/* Closes the file. */
void build_end(struct builder *builder);

/* Any row, as it is. */
void build_row(struct builder *builder, enum ws_family family, const void *row);

/* A fact about the recording; a value that is NULL is left out. */
void build_meta(struct builder *builder, const char *key, const char *value);

/* A device (1, 2 …) with one context of the same number. Its time 0 is the host's `offset`, right within ± error. */
void build_device(struct builder *builder, uint32_t device, const char *name, int64_t offset, uint32_t error);
void build_stream(struct builder *builder, uint32_t stream, uint32_t context);
void build_thread(struct builder *builder, uint32_t thread, uint32_t tid, const char *name);

/* Identifiers by name or content; the shape's own is filled in. */
uint32_t build_function(struct builder *builder, const char *name);
uint32_t build_driver_function(struct builder *builder, const char *name, enum ws_call_family family);
uint32_t build_shape(struct builder *builder, const struct ws_shape *shape);
uint32_t build_params(struct builder *builder, const struct ws_param_word *words, uint32_t count);

/* A kernel or a copy, and the call that launched it. */
struct launch {
    const char *kernel;      /* its name; NULL: a copy */
    enum ws_space from, to;  /* of a copy; both 0: from pinned memory to the device */
    const char *call;        /* the driver function; NULL: cuLaunchKernel or cuMemcpyAsync */
    uint32_t stream, thread; /* 0: 1 */
    uint32_t grid, block;    /* of a kernel, along x; 0: 64 and 256 */
    uint32_t params;         /* by build_params */
    uint64_t bytes;
    int64_t begin, end;           /* on the device */
    int64_t host_begin, host_end; /* of the call; both 0: from 10 to 6 µs before the begin */
    uint32_t error;               /* of begin and end */
    uint32_t flags;               /* besides those that say that both times are measured */
};

/* The operation's row, which is not in the trace yet: for what a launch cannot say. And the row of an operation of
 * any shape, with the same defaults. */
struct ws_op build_op(struct builder *builder, const struct launch *launch);
struct ws_op build_op_of(struct builder *builder, uint32_t shape, int64_t begin, int64_t end);

/* Adds the operation. Returns its shape. */
uint32_t build_launch(struct builder *builder, const struct launch *launch);

/* The two that most traces consist of. */
void build_kernel(struct builder *builder, uint32_t stream, const char *name, int64_t begin, int64_t end);
void build_copy(struct builder *builder, uint32_t stream, enum ws_space from, enum ws_space to, uint64_t bytes,
                int64_t begin, int64_t end);

/* A call that launches nothing. Of `row` the function, the thread (0: 1) and the correlation are filled in. */
void build_call_row(struct builder *builder, const char *function, enum ws_call_family family,
                    const struct ws_call *row);
void build_call(struct builder *builder, const char *function, enum ws_call_family family, int64_t begin,
                int64_t end);

/* A stretch of a thread's time with a name. */
void build_range(struct builder *builder, enum ws_range_kind kind, uint32_t thread, const char *name, int64_t begin,
                 int64_t end);

/* A kernel on stream 1 that thread 1 launches from within an operator that was given `inputs`. The operator lasts for
 * 100 ns before and after the launch's begin. */
void build_operator(struct builder *builder, const char *operator, const char * inputs, const char *kernel,
                    int64_t begin, int64_t length);

/* A communicator of device 1, and a call of NCCL's that launches one kernel on stream 2. */
void build_comm(struct builder *builder, uint32_t id, uint32_t rank, uint32_t size, uint64_t hash);
void build_collective(struct builder *builder, const char *function, uint32_t comm, uint64_t sequence, uint64_t count,
                      int64_t begin, int64_t end);

/* The next all-reduce of communicator 1. */
void build_all_reduce(struct builder *builder, int64_t begin, int64_t end);

#endif
