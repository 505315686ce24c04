/* What the shim keeps for each thread that makes CUDA calls: its ring, and caches that make the hot
 * path a few loads. */
#ifndef WALLSHIM_SHIM_THREAD_H
#define WALLSHIM_SHIM_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/ring_records.h"
#include "shim.h"

struct shim_context;
struct shim_stream;

/* What is static about an operation, as the wrapper has it at hand. */
struct shape_key {
    uint64_t object; /* kernel or executable graph: the application's handle; of other operations, which */
    uint64_t stream; /* the application's handle */
    uint32_t grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
    uint32_t which; /* call, spaces, default stream's flavour and context: shape_which in ops.h */
};

/* What every launch needs is in one cache line. */
struct shape_entry {
    _Alignas(64) struct shape_key key;
    uint32_t handles; /* shim_page.handles when it was filled */
    uint32_t shape, stream_id;
    uint32_t params_wait; /* launches until parameters are next thought of: 1 while they are kept */
    uint32_t function;
    uint32_t until_sample;  /* launches until the next one timed by a pair */
    uint32_t params_left;   /* blocks still kept in this window */
    uint64_t params_window; /* ticks at which the window began */
    struct shim_stream *stream;
    uint32_t counters; /* whether hardware counters are still wanted: see counters.c */
};

/* What a library was asked for, in words: family label. */
struct product_words {
    uint32_t name, inputs; /* inputs: 0 not known; then nothing is said of the call */
};

/* A matrix product that a library was asked for. */
struct product {
    uint64_t m, n, k, batch;
    uint32_t function; /* enum ws_function_id; 0: none */
    uint32_t a_type, b_type, compute, epilogue;
};

struct product_entry {
    _Alignas(64) struct product product;
    struct product_words words;
};

/* A call of cublasLtMatmul: whose it is, the words of its layouts, and what tells the descriptor (cublas_lt.c). */
enum { LT_LAYOUT_WORDS = 8, LT_DESC_WORDS = 11, LT_WORDS = 1 + 3 * LT_LAYOUT_WORDS + LT_DESC_WORDS };
struct lt_entry {
    _Alignas(64) uint64_t key[LT_WORDS];
    struct product_words words;
};

/* A convolution of cuDNN's older interface: what is convolved, the filter, the result. */
enum { CONVOLUTION_RANK = 6 };
struct convolution_tensor {
    uint32_t type;
    int32_t rank; /* 0: none */
    int32_t size[CONVOLUTION_RANK];
};
struct convolution_entry {
    struct convolution_tensor tensors[3];
    uint32_t function;
    struct product_words words;
};

/* The same by its descriptors: for as long as none of them is described anew. */
struct convolution_seen {
    const void *descriptors[3]; /* NULL: none */
    uint32_t changes[3];
    uint32_t function;
    struct product_words words;
};

/* An operation that found no room: see shapes.c. */
struct shape_refused {
    uint64_t object, stream;
    uint32_t which, handles;
    uint32_t skips; /* of the operations that follow, so many are not tried */
};

enum {
    SHAPES_REFUSED = 64,
    SHAPE_CACHE = 4096,
    PRODUCT_CACHE = 2048,
    LT_CACHE = 1024,
    CONVOLUTION_CACHE = 256,
    CONVOLUTIONS_SEEN = 512,
    PENDING_COLLECTIVES = 64,
    NESTED_KNOWN = 16 /* places in NCCL and the like from which calls are made in turn; a power of 2 */
};

/* Of the operation under way: what is to be done about counters when it returns. */
enum thread_counted { COUNTED_NOT_ASKED, COUNTED_NOTHING, COUNTED_LAUNCH };

/* A thread that is ending may still make calls, from the destructors of its keys: it is gone when the kernel says so.
 */
/* A launch's parameters, as its caller has them. */
struct thread_params {
    bool wanted;
    uint32_t function; /* dictionary id */
    void **params, **extra;
};

enum thread_life { THREAD_ALIVE, THREAD_ENDING };

/* A call that was found to be made by one under way: see frames.h. */
struct thread_nested {
    uintptr_t at, caller;
    const void *from;
};

struct shim_thread {
    struct ws_ring ring;             /* first, so that what a launch needs of it is at the pointer itself */
    uint32_t id;                     /* dictionary id; those of late threads share one */
    uintptr_t within;                /* the frame of the wrapped call under way (frames.h); 0: in none */
    struct ws_ring_header op_header; /* of its operations: WS_OP_IN_COLLECTIVE is in it while inside NCCL */
    uint64_t correlation;            /* the last one given */
    uint64_t passed;                 /* calls not recorded because recording was off; read relaxed by the drain */
    uint64_t unregistered;           /* operations that found no room, and are not recorded */
    uint64_t inside;                 /* calls of the program's within others, and those left by a jump; as `passed` */
    uint64_t damaged;                /* records of the ring that made no sense; the drain's own */
    struct shim_context *context;    /* current, as of `handles`; NULL unknown */
    uint32_t handles;                /* never that of now while the context is unknown */
    uint32_t context_bits;           /* its dictionary id, where shape_which puts it */
    /* Of the operation under way. */
    bool slow;                             /* more is to be done when it returns than to commit its record */
    uint8_t counted;                       /* enum thread_counted */
    bool has_turn;                         /* of the stream */
    bool beside;                           /* without it, and counted as such in the stream's order */
    uint64_t order;                        /* of the stream, when the call entered it */
    struct shim_stream *timed;             /* where marks are recorded; NULL: nowhere */
    uint32_t first_waiting, waiting_count; /* streams that a wait for an event is being put into, by id */
    uint32_t begin_mark, end_mark;         /* which no record has yet; 0: none */
    uint64_t begun_at;                     /* the ring's head: further on, the record is in the ring */
    uint8_t end_users;                     /* of the end mark, that are not the stream */
    uint8_t copies_noted;                  /* 0 nowhere, 1 with the context, 2 with the stream as well */
    struct thread_params due;              /* to be kept when it returns */
    uint8_t direction;                     /* of a copy, enum copy_direction; COPY_DIRECTIONS: of none */
    uintptr_t in_product; /* the frame of the call of cuBLAS or cuDNN under way: what that calls of itself is no
                             product of the program's; 0: none */
    uintptr_t in_nccl;    /* that of NCCL: launches are its own */
    struct thread_nested nested[NESTED_KNOWN];
    uint32_t captures_beginning; /* counted, by calls that have not returned */
    bool capture_ending;         /* the call that has not returned ends one */
    uint64_t capture_handle;     /* the stream of the last of them; 0: one that is not known */
    uint32_t group_depth;        /* of ncclGroupStart */
    uint32_t collective_count;
    struct ws_ring_collective collectives[PENDING_COLLECTIVES]; /* waiting for the group's end */
    struct shape_entry shapes[SHAPE_CACHE];
    struct product_entry products[PRODUCT_CACHE];
    struct lt_entry lt_products[LT_CACHE];
    struct convolution_entry convolutions[CONVOLUTION_CACHE];
    struct convolution_seen convolutions_seen[CONVOLUTIONS_SEEN];
    struct shape_refused shapes_refused[SHAPES_REFUSED];
    uint64_t simplified;   /* operations recorded without grid and block */
    _Atomic uint32_t life; /* enum thread_life */
    uint32_t number;       /* this thread's alone, from 1 on */
    int32_t tid;
    struct shim_stream *own_streams; /* its default streams; the registry's lock */
    size_t mapping;                  /* bytes of this structure and the ring */
    /* The drain's own. */
    uint64_t reported_lost, reported_passed, reported_unregistered, reported_simplified;
    uint64_t reported_inside, reported_damaged;
    uint32_t params; /* id for the operation that follows */
};

/* One pointer and a few bytes of static thread-local storage: there is little of it, and the compiler's
 * other ways of reaching thread-locals from a library cost a call. */
struct thread_self {
    struct shim_thread *thread;
    uint32_t refused; /* generation in which there was no room for this thread */
    bool ours;        /* started by us: what it calls is no work of the program's */
};
extern __thread struct thread_self thread_self __attribute__((tls_model("initial-exec")));

/* Once, when the shim is loaded. */
void threads_init(void);

/* This thread's state, made if need be; NULL when the shim does not run here (shim_start said no, no
 * memory, too many threads). */
struct shim_thread *thread_get(void);

/* The same, but only if it exists. A child of a process that had started never starts itself, and its
 * phase says so: what it has of its parent's is not looked at. */
static inline struct shim_thread *thread_of_phase(uint32_t phase)
{
    return phase & SHIM_STARTED ? thread_self.thread : NULL;
}

static inline struct shim_thread *thread_if_known(void)
{
    return thread_of_phase(shim_phase());
}

/* Starts a thread of ours, detached, to which no signal of the program's goes. Returns 0 or -errno. */
int thread_start(void *(*main)(void *));

/* For the drain: every thread's state, in no order; slots of ended ones are NULL. */
enum { THREAD_SLOTS = 4096 };
struct shim_thread *thread_at(unsigned slot);
unsigned thread_slots_used(void);

/* Has the thread ended, as the kernel knows it? */
bool thread_is_gone(const struct shim_thread *thread);

/* Frees the state of a thread that is gone and whose ring has been read. */
void thread_retire(unsigned slot);

/* Threads that have a state now. */
unsigned thread_count(void);

/* Threads that found no slot since the start. */
uint64_t threads_refused(void);

#endif
