/* Entries of each thread's caches: shapes of operations, and computations of library calls. With a cache, a repeated
 * call costs only a few loads. shim/calls and shim/libraries fill the caches. */
#ifndef WALLSHIM_SHIM_OBJECTS_CACHES_H
#define WALLSHIM_SHIM_OBJECTS_CACHES_H

#include <stdint.h>

struct shim_stream;

/* The facts by which a wrapper finds the shape (shapes.h) of its operation. */
struct shape_key {
    uint64_t object; /* the application's handle of the kernel or executable graph; for other operations a copy of
                        `which` */
    uint64_t stream; /* the application's handle of the stream */
    uint32_t grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
    uint32_t which; /* call, memory spaces, kind of default stream and context, packed by shape_which */
};

enum { SHAPE_CONTEXT_BIT = 18 }; /* the bit of shape_key.which at which the context's id begins */

/* The fields that every launch needs are in one cache line. */
struct shape_entry {
    _Alignas(64) struct shape_key key;
    uint32_t handles; /* shim_page.handles when the entry was filled */
    uint32_t shape, stream_id;
    uint32_t params_wait; /* launches until the next call of kernel_params; 1: at the next launch */
    uint32_t function;
    uint32_t until_sample;  /* launches until the next one that is timed by two events (a sample); 0: never */
    uint32_t sample_gap;    /* launches from the last sample to the next; 0: no sample yet (calls/measure.h) */
    uint32_t params_left;   /* number of parameter blocks still to be kept in this window of one second */
    uint64_t params_window; /* ticks at which the window began */
    struct shim_stream *stream;
    uint32_t counters; /* whether hardware counters are still wanted: see counters/counters.c */
};

/* A stack that the thread had before. */
struct stack_entry {
    uint64_t key; /* hash of all its frames */
    uint32_t frame;
};

/* The description of a library call's computation: ids of the dictionary "label". */
struct call_label {
    uint32_t name, inputs; /* inputs 0: not known, so the call is not recorded */
};

/* A matrix product. */
struct gemm {
    uint64_t m, n, k, batch;
    uint32_t function; /* enum ws_function_id; 0: none */
    uint32_t a_type, b_type, compute, epilogue;
};

struct gemm_entry {
    _Alignas(64) struct gemm gemm;
    struct call_label label;
};

/* A call of cublasLtMatmul. The key has the words of three matrix layouts (A, B, D), the first words of the call's
 * descriptor, and the version of cuBLASLt (libraries/cublas_lt.c). */
enum { LT_LAYOUT_WORDS = 8, LT_DESC_WORDS = 11, LT_WORDS = 1 + 3 * LT_LAYOUT_WORDS + LT_DESC_WORDS };
struct lt_entry {
    _Alignas(64) uint64_t key[LT_WORDS];
    struct call_label label;
};

/* A convolution of cuDNN's older interface. Its tensors: the input, the filter, the result. */
enum { CONVOLUTION_RANK = 6 };
struct convolution_tensor {
    uint32_t type;
    int32_t rank; /* number of dimensions; 0: no tensor */
    int32_t size[CONVOLUTION_RANK];
};
struct convolution_entry {
    struct convolution_tensor tensors[3];
    uint32_t function;
    struct call_label label;
};

/* A convolution of cuDNN's older interface, found by its descriptors. `changes` holds how often each descriptor was
 * set (libraries/cudnn.c). The entry is valid until one of the descriptors is set again. */
struct convolution_seen {
    const void *descriptors[3]; /* NULL: none */
    uint32_t changes[3];
    uint32_t function;
    struct call_label label;
};

/* An operation whose shape could not be added to the dictionary: see calls/shape_cache.c. */
struct shape_refused {
    uint64_t object, stream;
    uint32_t which, handles;
    uint32_t skips; /* number of such operations to skip before the next attempt to add the shape */
};

enum {
    SHAPES_REFUSED = 64,
    SHAPE_CACHE = 4096,
    STACK_CACHE = 256,
    GEMM_CACHE = 2048,
    LT_CACHE = 1024,
    CONVOLUTION_CACHE = 256,
    CONVOLUTIONS_SEEN = 512
};

#endif
