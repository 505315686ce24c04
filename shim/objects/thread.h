/* What the shim keeps for each thread that makes CUDA calls: its ring, and caches that make the hot path a few
 * loads. */
#ifndef WALLSHIM_SHIM_OBJECTS_THREAD_H
#define WALLSHIM_SHIM_OBJECTS_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/ring_records.h"
#include "shim/objects/caches.h"
#include "shim/state/phase.h"

struct shim_context;
struct shim_stream;

enum {
    PENDING_COLLECTIVES = 64,
    NESTED_KNOWN = 16 /* callers in NCCL and the like that take turns; a power of 2 */
};

/* Of the operation under way: what is to be done about counters when it returns. */
enum thread_counted { COUNTED_NOT_ASKED, COUNTED_NOTHING, COUNTED_LAUNCH };

/* A launch's parameters, as its caller has them. */
struct thread_params {
    bool wanted;
    uint32_t function; /* dictionary id */
    void **params, **extra;
};

/* What measuring device times has cost the thread (calls/measure.h), in ticks. */
struct thread_measuring {
    uint64_t paid_until; /* nothing is measured before, so that the share of the time holds */
    uint32_t unmeasured; /* operations since the last that was measured */
    bool anchor_next;    /* anchors and samples take turns */
};

/* A thread that is ending may still make calls, from the destructors of its keys: it is gone when the kernel says so.
 */
enum thread_life { THREAD_ALIVE, THREAD_ENDING };

/* A call that was found to be made by one under way: see calls/frames.h. */
struct thread_nested {
    uintptr_t at, caller;
    const void *from;
};

struct shim_thread {
    struct ws_ring ring;             /* first, so that what a launch needs of it is at the pointer itself */
    uint32_t id;                     /* dictionary id; those of late threads share one */
    uintptr_t within;                /* the frame of the wrapped call under way (calls/frames.h); 0: in none */
    struct ws_ring_header op_header; /* of its operations: WS_OP_IN_COLLECTIVE is in it while inside NCCL */
    uint64_t correlation;            /* the last one given */
    uint64_t passed;                 /* calls not recorded because recording was off; read relaxed by the drain */
    uint64_t unregistered;           /* operations that found no room, and are not recorded */
    uint64_t inside;                 /* calls of the program within others, and those left by a jump; as `passed` */
    uint64_t damaged;                /* records of the ring that made no sense; the drain's own */
    struct shim_context *context;    /* current, as of `handles`; NULL unknown */
    uint32_t handles;                /* differs from shim_page's while the context is unknown */
    uint32_t context_bits;           /* its dictionary id, where shape_which puts it */
    /* Of the operation under way. */
    bool slow;                             /* its return takes more than committing its record */
    uint8_t measure;                       /* enum measure */
    uint8_t counted;                       /* enum thread_counted */
    uint64_t gate;                         /* that holds its stream; 0: none */
    uint64_t measuring_took;               /* ticks, so far */
    bool has_turn;                         /* of the stream */
    bool beside;                           /* without the turn, and counted so in the stream's order */
    uint64_t order;                        /* of the stream, when the call entered it */
    struct shim_stream *timed;             /* where events are recorded; NULL: nowhere */
    uint32_t first_waiting, waiting_count; /* streams that a wait for an event is being put into, by id */
    uint32_t begin_event, end_event;       /* which no record has yet; 0: none */
    uint64_t begun_at;                     /* the ring's head; once it has moved, the record is in the ring */
    uint8_t end_users;                     /* of the end event, that are not the stream */
    uint8_t copies_noted;                  /* 0 nowhere, 1 with the context, 2 with the stream as well */
    struct thread_measuring measuring;
    struct thread_params due; /* to be kept when it returns */
    uint8_t direction;        /* of a copy, enum copy_direction; COPY_DIRECTIONS: of none */
    uintptr_t in_library; /* the frame of the cuBLAS or cuDNN call under way: calls that it makes itself are not the
                             program's; 0: none */
    uintptr_t in_nccl;    /* that of NCCL: launches are its own */
    struct thread_nested nested[NESTED_KNOWN];
    uint32_t captures_beginning; /* counted, by calls that have not returned */
    bool capture_ending;         /* the call that has not returned ends one */
    uint64_t capture_handle;     /* the stream of the last of them; 0: one that is not known */
    uint32_t group_depth;        /* of ncclGroupStart */
    uint32_t collective_count;
    struct ws_ring_collective collectives[PENDING_COLLECTIVES]; /* waiting for the group's end */
    struct shape_entry shapes[SHAPE_CACHE];
    struct gemm_entry gemms[GEMM_CACHE];
    struct lt_entry lt_gemms[LT_CACHE];
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
    uint32_t params;      /* id for the operation that follows */
    uint64_t touched;     /* slots of the ring whose pages are there (drain/ring_pages.h) */
    uint64_t head_before; /* the ring's, when pages were last touched */
};

/* One pointer and a few bytes of static thread-local storage: there is little of it, and the compiler's
 * other ways of reaching thread-locals from a library cost a call. */
struct thread_self {
    struct shim_thread *thread;
    uint32_t refused; /* generation in which there was no room for this thread */
    bool ours;        /* started by us: its calls are not the program's */
};
extern __thread struct thread_self thread_self __attribute__((tls_model("initial-exec")));

/* Once, when the shim is loaded. */
void threads_init(void);

/* This thread's state, made if need be. NULL when nothing is recorded here (shim_life.start said no, no memory, too
 * many threads). */
struct shim_thread *thread_get(void);

/* The same, but only if it exists. In a child of a process that had started, the phase hides the parent's state. */
static inline struct shim_thread *thread_of_phase(uint32_t phase)
{
    return phase & SHIM_STARTED ? thread_self.thread : NULL;
}

static inline struct shim_thread *thread_if_known(void)
{
    return thread_of_phase(shim_phase());
}

/* Starts a detached thread of ours that takes no signals. Returns 0 or -errno. */
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

/* Threads that ever had one: differs from an earlier answer where one began. */
uint32_t threads_begun(void);

/* Threads that found no slot since the start. */
uint64_t threads_refused(void);

/* A call that is not recorded now, of a thread that has no state yet; and how many there were. */
void threads_pass_unknown(void);
uint64_t threads_passed_unknown(void);

#endif
