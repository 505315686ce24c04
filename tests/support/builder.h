/* Makes traces for tests. A test states which operations ran at which times; everything else has defaults. At its
 * first use, a function or a shape (what all launches of one kind have in common) gets an identifier and a row in the
 * trace. Device times are in ns of the device's clock, all other times in ns of the host's clock. */
#ifndef WALLSHIM_TESTS_BUILDER_H
#define WALLSHIM_TESTS_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

enum { BUILD_NAMES = 256, BUILD_CALLS = 64, BUILD_SHAPES = 512 };

/* A trace that is being written. Its last three members hold the names and shapes that already have an identifier. */
struct builder {
    struct ws_writer *writer;
    int64_t clock_offset; /* host time − device time, as given to the latest build_device */
    /* number of launches and of collectives so far, which is also the id of the latest one */
    uint64_t launches, collectives;
    /* the highest identifier so far of functions, driver functions … */
    uint32_t functions, driver_functions, shapes, labels, params;
    /* names[i] has identifier i + 1; the texts are not copied */
    const char *names[BUILD_NAMES], *driver_names[BUILD_CALLS];
    struct ws_shape known[BUILD_SHAPES];
};

/* Creates the file at `path`. If any function of this header fails, the program ends with status 99. */
void build_begin(struct builder *builder, const char *path);

/* Completes the trace and closes its file. */
void build_end(struct builder *builder);

/* Adds one row of any family, unchanged. */
void build_row(struct builder *builder, enum ws_family family, const void *row);

/* Adds a key and a value that describe the recording (WS_FAMILY_meta). With value NULL nothing is added. */
void build_meta(struct builder *builder, const char *key, const char *value);

/* Adds a device with this number, from 1, and one context of the same number. `offset` is the host time at which the
 * device's clock is 0, known to ± `error` ns. */
void build_device(struct builder *builder, uint32_t device, const char *name, int64_t offset, uint32_t error);
void build_stream(struct builder *builder, uint32_t stream, uint32_t context);
void build_thread(struct builder *builder, uint32_t thread, uint32_t tid, const char *name);

/* Return the identifier of a name, a shape or parameters. If the trace does not have the name or shape yet, its row
 * is added. build_params adds a row at every call. build_shape fills in the shape's identifier. */
uint32_t build_function(struct builder *builder, const char *name);
uint32_t build_driver_function(struct builder *builder, const char *name, enum ws_call_family family);
uint32_t build_shape(struct builder *builder, const struct ws_shape *shape);
uint32_t build_params(struct builder *builder, const struct ws_param_word *words, uint32_t count);

/* A kernel or a copy on the device, and the host's call that launched it. */
struct launch {
    const char *kernel;      /* the kernel's name; NULL: a copy */
    enum ws_space from, to;  /* of a copy: kinds of memory; both 0: from pinned memory to the device */
    const char *call;        /* name of the driver function; NULL: cuLaunchKernel or cuMemcpyAsync */
    uint32_t stream, thread; /* identifiers of the stream and the thread; 0 stands for 1 */
    uint32_t grid, block;    /* of a kernel: sizes along x; 0: grid 64 and block 256 */
    uint32_t params;         /* identifier of the kernel's arguments, from build_params; 0: none are recorded */
    uint64_t bytes;
    int64_t begin, end;           /* times on the device's clock */
    int64_t host_begin, host_end; /* times of the host's call; both 0: from 10 to 6 µs before `begin` */
    uint32_t error;               /* the error of begin and of end that the trace states, ns */
    uint32_t flags;               /* further WS_OP_… flags; begin and end are always flagged as measured */
};

/* Return the row of an operation without adding it to the trace. So the caller can set members that struct launch
 * lacks, and then add the row with build_row. build_op_of takes an identifier of a shape in place of a kernel's name,
 * and has the same defaults. */
struct ws_op build_op(struct builder *builder, const struct launch *launch);
struct ws_op build_op_of(struct builder *builder, uint32_t shape, int64_t begin, int64_t end);

/* Adds the operation to the trace. Returns the identifier of its shape. */
uint32_t build_launch(struct builder *builder, const struct launch *launch);

/* Short forms of build_launch, for a kernel and for a copy. */
void build_kernel(struct builder *builder, uint32_t stream, const char *name, int64_t begin, int64_t end);
void build_copy(struct builder *builder, uint32_t stream, enum ws_space from, enum ws_space to, uint64_t bytes,
                int64_t begin, int64_t end);

/* Add a driver call that launches nothing. build_call_row fills in the row's function and correlation, and also its
 * thread if the caller has set the thread to 0. */
void build_call_row(struct builder *builder, const char *function, enum ws_call_family family,
                    const struct ws_call *row);
void build_call(struct builder *builder, const char *function, enum ws_call_family family, int64_t begin,
                int64_t end);

/* Adds a named range (as of NVTX) of a thread's time. */
void build_range(struct builder *builder, enum ws_range_kind kind, uint32_t thread, const char *name, int64_t begin,
                 int64_t end);

/* Adds a kernel on stream 1. Thread 1 launches it inside a range for an operator (such as aten::mm) with these
 * inputs. The launch begins in the middle of the range, which lasts 200 ns. */
void build_operator(struct builder *builder, const char *operator, const char * inputs, const char *kernel,
                    int64_t begin, int64_t length);

/* build_comm adds a communicator of device 1. build_collective adds an NCCL call that launches one kernel on stream
 * 2. */
void build_comm(struct builder *builder, uint32_t id, uint32_t rank, uint32_t size, uint64_t hash);
void build_collective(struct builder *builder, const char *function, uint32_t comm, uint64_t sequence, uint64_t count,
                      int64_t begin, int64_t end);

/* Adds the next all-reduce of communicator 1. */
void build_all_reduce(struct builder *builder, int64_t begin, int64_t end);

#endif
