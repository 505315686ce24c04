/* Entries of each thread's caches: for example shapes of operations (shapes.h), and what calls of cuBLAS and cuDNN
 * compute. With a cache, a repeated call costs only a few loads. The code in shim/calls, shim/libraries and
 * shim/stacks fills the caches. */
#ifndef WALLSHIM_SHIM_OBJECTS_CACHES_H
#define WALLSHIM_SHIM_OBJECTS_CACHES_H

#include <stdbool.h>
#include <stdint.h>

struct shim_stream;

/* The facts by which a wrapper finds the shape of its operation: the properties that repeated operations have in
 * common (shapes.h). */
struct shape_key {
    uint64_t object; /* the application's handle of the kernel or executable graph; for other operations a copy of
                        `which` */
    uint64_t stream; /* the application's handle of the stream */
    /* grid_x of a copy or memset: its size class (shapes.h) */
    uint32_t grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
    uint32_t which; /* called function, kinds of memory, kind of default stream and context, packed by shape_which */
};

enum { SHAPE_CONTEXT_BIT = 18 }; /* the bit of shape_key.which at which the context's id begins */

/* An entry of the cache of shapes. The fields that every launch needs are in one cache line. */
struct shape_entry {
    _Alignas(64) struct shape_key key;
    uint32_t stamp; /* made by shape_stamp when the entry was filled; if it has changed, the entry is invalid */
    uint32_t shape, stream_id;
    uint32_t params_wait; /* launches until kernel_params (calls/notes.h) is called again; 1: at the next launch */
    uint32_t function;
    /* launches of the shape until the next one that is timed by two events (a sample, calls/measure.h); 0: none will
     * be */
    uint32_t until_sample;
    /* planned number of launches from the last sample to the next; 0: the next one is the first
     * (measure.c) */
    uint32_t sample_gap;
    uint32_t params_left;   /* number of parameter blocks that may still be kept in this window of one second */
    uint64_t params_window; /* ticks at which the window began */
    struct shim_stream *stream;
    /* says whether hardware counters are still to be read for launches with this shape (counters/counters.c) */
    uint32_t counters;
    /* true for a copy, memset or graph launch whose device times can be computed from the times of earlier operations
     * with this key */
    bool computable;
    bool is_graph;
};

/* A stream that the thread has used before (streams.h). */
struct known_stream {
    uint64_t key; /* identifies the stream (stream_key in streams.c); 0: the entry is empty */
    struct shim_stream *stream;
    uint32_t handles; /* shim_page.handles when the entry was filled; if it has changed, the entry is invalid */
};

/* A call stack of the thread that was recorded before. */
struct stack_entry {
    uint64_t key;   /* hash of all frames of the stack */
    uint32_t frame; /* id, in the dictionary of frames, of the stack's innermost frame */
};

/* The name of a range that the program sets with NVTX (libraries/nvtx_names.h). */
struct range_label {
    uint32_t label;  /* id of the dictionary "label"; 0: no name, or no room for it */
    uint32_t kind;   /* enum ws_range_kind */
    uint64_t number; /* the counter in the name, such as 12 in "step 12", or the range's payload; 0: none */
};

struct range_label_entry {
    uint64_t key; /* hash of the range's NVTX domain and its text */
    struct range_label name;
};

/* A range that the program has begun and not yet ended. */
struct range_open {
    struct range_label name;
    uint64_t ticks;  /* when the range began */
    uint64_t id;     /* the id by which the program ends the range; 0: ranges end in order, the innermost first */
    uint32_t domain; /* number of the range's NVTX domain (libraries/nvtx_names.h); 0: the default domain */
};

/* An address in native code that was in an earlier stack of the thread, and how to get from the frame of this code to
 * its caller's frame (stacks/cfi.h). */
struct native_entry {
    uint64_t pc;
    uint32_t module; /* index of the module that contains pc, in the table of stacks/modules.c */
    int32_t frame_offset, bp_offset;
    uint8_t frame, bp;
};

/* The part of the thread's own stack, from low to high, that the shim knows to be readable. The shim asks the kernel
 * about one page after the other (stacks/stack_memory.h), so this part grows. */
struct own_stack {
    uintptr_t low, high; /* high 0: the readable part is not known yet */
    bool is_whole;       /* the page below low cannot be read, so the stack ends there */
};

/* What a library call computes: its name and its inputs, as ids of the dictionary "label". */
struct call_label {
    uint32_t name, inputs; /* inputs 0: the inputs are not known, so the call is not recorded */
};

/* A matrix product. */
struct gemm {
    uint64_t m, n, k, batch;
    uint32_t function; /* enum ws_function_id of the called function */
    uint32_t a_type, b_type, compute, epilogue;
};

struct gemm_entry {
    _Alignas(64) struct gemm gemm;
    struct call_label label;
};

/* A call of cublasLtMatmul. The key consists of the words of three matrix layouts (A, B, D), the first words of the
 * call's descriptor, and a word that identifies the version of cuBLASLt (libraries/cublas_lt.c). */
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

/* A convolution of cuDNN's older interface, found by its descriptors. The entry is valid until the program sets one
 * of the descriptors again. */
struct convolution_seen {
    const void *descriptors[3];
    uint32_t changes[3]; /* how often each descriptor had been set when the entry was made (libraries/cudnn.c) */
    uint32_t function;
    struct call_label label;
};

/* An operation whose shape could not be added to the dictionary: see calls/shape_cache.c. */
struct shape_refused {
    uint64_t object, stream;
    uint32_t which, handles;
    uint32_t skips; /* number of operations with this shape to skip before the next attempt to add the shape */
};

enum {
    SHAPES_REFUSED = 64,
    SHAPE_CACHE = 4096,
    STREAM_CACHE = 16,
    STACK_CACHE = 256,
    NATIVE_CACHE = 1024,
    GEMM_CACHE = 2048,
    LT_CACHE = 1024,
    CONVOLUTION_CACHE = 256,
    CONVOLUTIONS_SEEN = 512,
    RANGE_LABEL_CACHE = 256,
    RANGES_OPEN = 64
};

#endif
