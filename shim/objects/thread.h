/* The shim's state for each thread that makes CUDA calls: its ring (a ring buffer of records), and caches that keep
 * the hot path (the code that every launch runs) short. The drain thread reads the rings and writes the trace. */
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
    NESTED_KNOWN = 16 /* how many nested calls frame_makes (calls/frames.h) remembers; a power of 2 */
};

/* Are hardware counters read for the current operation? COUNTED_NOT_ASKED: counters_before was not called. */
enum thread_counted { COUNTED_NOT_ASKED, COUNTED_NOTHING, COUNTED_LAUNCH };

/* A launch's parameters, as the program passed them. */
struct thread_params {
    bool wanted;
    uint32_t function; /* dictionary id of the launched kernel */
    void **params, **extra;
};

/* The time, ns, that a record is assumed to cost its thread. It is more than a launch costs by itself (tests/bench):
 * the ring's lines come from another core, and the drain thread works beside the program. Measured as the difference
 * of two whole programs (scripts/slowdown, setting host). */
enum { RECORD_NS = 85 };

/* How much of its time the thread works (timing/activity.h). Times are in ticks. */
struct thread_activity {
    uint64_t in_calls;       /* time that the thread has spent in calls that may wait for the device */
    uint64_t waited_at;      /* end of the last wait */
    uint64_t between;        /* usual time from the end of one wait to that of the next */
    uint32_t waits;          /* how often the thread has waited */
    uint32_t stretch;        /* in 256ths: the time that passed, divided by the time in which the thread worked */
    uint64_t read_at;        /* when the thread's CPU time was read; 0: never */
    uint64_t next_read;      /* when the CPU time is to be read again */
    uint64_t cpu_ns;         /* the CPU time at the last reading */
    uint64_t then_in_calls;  /* time in calls and operations at the last reading */
    uint64_t passed, worked; /* time that passed, and time in which the thread worked; older times count less */
};

/* What it costs this thread to measure device times. --overhead limits this cost (calls/measure.h). All times are in
 * ticks. */
struct thread_measuring {
    uint64_t paid_until; /* before this time, nothing is measured, to stay within --overhead */
    /* A part of --overhead is kept for early samples (the first samples of a shape). From early_paid_until on, an
     * early sample may be taken even before paid_until. */
    uint64_t early_paid_until;
    bool early; /* the measurement under way is charged to the part of --overhead that is kept for early samples */
    uint32_t unmeasured; /* operations since the last measured one */
    /* the last measurement was a sample (of an operation's duration), so the next is an anchor (of an operation's
     * end) if both are due */
    bool anchor_next;
    bool is_sample; /* the measurement under way is a sample, or begins a chain (calls/measure.h) */
    uint8_t chains; /* number of chains begun, modulo 256 */
    /* ticks that a measured launch usually took, and that the shortest one took; 0: none was measured yet */
    uint64_t usual_launch, least_launch;
    uint32_t waits_at_launch;          /* `waits` of struct thread_activity at the last measured launch */
    uint64_t least_cost[2];            /* ticks that the shortest anchor took, and the shortest sample */
    uint64_t sample_cost, anchor_cost; /* what a sample usually costs, and what an anchor usually costs */
    /* `waits` of struct thread_activity when may_delay (calls/measure.c) last allowed a measurement that costs the
     * thread more than --overhead allows for the time between two waits */
    uint32_t waits_at_felt;
    uint64_t spent; /* ticks that recording events and stacks has cost so far (measure_cost); read by the drain thread
                       (memory_order_relaxed) */
};

/* A thread that is ending may still make calls, in destructors of thread-specific data. The thread is gone only when
 * the kernel no longer knows it (thread_is_gone). */
enum thread_life { THREAD_ALIVE, THREAD_ENDING };

/* A nested call that frame_makes (calls/frames.h) has found: the arguments of frame_makes, kept to recognize the same
 * call again. */
struct thread_nested {
    uintptr_t at, caller;
    const void *from;
};

struct shim_thread {
    struct ws_ring ring; /* the first field, so that launches need no offset to reach it */
    uint32_t id;         /* dictionary id; once the dictionary is full, all later threads share one id */
    uintptr_t within;    /* address of the marker of the wrapped call under way (calls/frames.h); 0: no such call */
    struct ws_ring_header op_header; /* header of operations' records; has WS_OP_IN_COLLECTIVE during an NCCL call */
    uint64_t correlation;            /* number of the thread's last operation or call */
    /* calls not recorded because recording was off; read by the drain thread (memory_order_relaxed) */
    uint64_t passed;
    uint64_t unregistered; /* operations not recorded because their stream or shape could not be registered */
    uint64_t damaged; /* damaged records that the drain thread found in the ring; used only by the drain thread */
    struct shim_context *context; /* current context while `handles` equals shim_page.handles; NULL: unknown */
    uint32_t handles;      /* shim_page.handles when `context` was found: if it has changed, `context` is invalid */
    uint32_t context_bits; /* the context's dictionary id, shifted as shape_which needs it */
    /* Fields of the current operation: */
    bool slow;               /* op_end_slowly must be called when the operation's call returns */
    uint8_t measure;         /* enum measure */
    uint8_t counted;         /* enum thread_counted */
    uint64_t gate;           /* the gate that holds the operation's stream (timing/gates.h); 0: none */
    uint64_t measuring_took; /* ticks that the shim spent on measuring the operation before its driver call */
    bool has_turn;           /* the thread has the stream's turn: others wait before they use the stream (turns.h) */
    /* the operation goes into the stream without the turn, and stream->order counts it as under way */
    bool beside;
    uint64_t order;            /* stream->order before the operation was counted there */
    struct shim_stream *timed; /* the stream into which the operation's events go; NULL: it gets no events */
    /* streams that the call makes wait for an event: their first id, their number */
    uint32_t first_waiting, waiting_count;
    uint32_t begin_event, end_event; /* the operation's events; 0: none. The thread gives them back if the call is
                                        left before its record is committed */
    uint64_t begun_at;    /* the ring's head when the operation began; the head moves at the record's commit */
    uint8_t end_users;    /* users of end_event (operations and streams) that are still to be released */
    uint8_t copies_noted; /* where the copy under way is counted: 0: nowhere; 1: in the context; 2: in the context and
                             the stream */
    struct thread_measuring measuring;
    struct thread_activity activity;
    struct thread_params due; /* parameters of the launch under way, to be recorded when its call returns */
    uint8_t direction;        /* enum copy_direction; COPY_DIRECTIONS: no copy between host and device */
    uintptr_t in_library; /* like `within`, for the cuBLAS or cuDNN call under way; cuBLAS and cuDNN calls made inside
                             it are not recorded */
    uint32_t library_inputs; /* label of the inputs of the cuBLAS or cuDNN call under way; 0: there is no such call,
                                or its inputs are not known */
    uint32_t inputs_stamp;   /* library_inputs times a large odd number, for shape_stamp (calls/shape_cache.h) */
    uintptr_t in_nccl;       /* like `within`, for the NCCL call under way; launches made inside it are flagged */
    struct thread_nested nested[NESTED_KNOWN];
    /* how many captures the call under way begins; shim_page.phase counts them already */
    uint32_t captures_beginning;
    bool capture_ending;     /* the call under way ends a capture */
    uint64_t capture_handle; /* handle of the stream whose capture begins or ends; 0: not known */
    uint32_t group_depth;    /* how many ncclGroupStart are still open */
    uint32_t collective_count;
    struct ws_ring_collective collectives[PENDING_COLLECTIVES]; /* collectives that wait for ncclGroupEnd */
    struct shape_entry shapes[SHAPE_CACHE];
    struct known_stream streams[STREAM_CACHE];
    struct gemm_entry gemms[GEMM_CACHE];
    struct lt_entry lt_gemms[LT_CACHE];
    struct convolution_entry convolutions[CONVOLUTION_CACHE];
    struct convolution_seen convolutions_seen[CONVOLUTIONS_SEEN];
    struct shape_refused shapes_refused[SHAPES_REFUSED];
    struct stack_entry stacks[STACK_CACHE];
    uint64_t stacks_paid_until; /* ticks; until then no stack is recorded, to stay within --overhead */
    /* Address of the thread state that the Python interpreter had for this thread when the shim last looked. NULL:
     * the interpreter had no state for this thread. Read by the drain thread. */
    const void *python;
    struct range_label_entry range_labels[RANGE_LABEL_CACHE];
    struct range_open ranges[RANGES_OPEN]; /* open ranges of the program, in the order in which they began */
    uint32_t ranges_open;  /* number of entries in `ranges`; read by the drain thread (memory_order_relaxed) */
    uint32_t range_number; /* how many ranges with an id the thread has begun; part of the next id */
    /* ranges not recorded, because they never ended or have no name; read by the drain thread
     * (memory_order_relaxed) */
    uint64_t ranges_left;
    uint64_t simplified;   /* operations recorded without grid and block */
    _Atomic uint32_t life; /* enum thread_life */
    uint32_t number;       /* no other thread has this number; numbers begin at 1 */
    int32_t tid;
    struct shim_stream *own_streams; /* list of the thread's own default streams; guarded by the registry's lock */
    size_t mapping;                  /* bytes of memory mapped for this structure and the ring */
    uint32_t live_part; /* the part of the live memory (record/live.h) that holds this structure; 0: none */
    /* Used only by the drain thread: */
    uint64_t reported_lost, reported_passed, reported_unregistered, reported_simplified;
    uint64_t reported_nested, reported_damaged, reported_spent, reported_ranges;
    uint64_t window_head; /* the ring's head when the last time window of drain/cost.c ended */
    uint32_t params;      /* id of the parameters read last, which belong to the operation after them in the ring */
    uint64_t touched;     /* number of the ring's slots whose pages are in memory (drain/ring_pages.h) */
    uint64_t head_before; /* the ring's head when the drain thread last brought pages into memory */
    /* ticks that the thread spent in launches, copies …, as far as the drain thread has read their records; read by
     * this thread (memory_order_relaxed) */
    uint64_t in_ops;
    int64_t pause_begin; /* host time, ns, at which the last call that the drain thread has read ended */
    /* Used only by the thread itself, if native stacks are recorded: */
    struct own_stack own_stack;
    struct native_entry native[NATIVE_CACHE];
    struct stack_entry native_stacks[STACK_CACHE];
};

/* This structure is small, because it is in static thread-local storage (initial-exec), and a process has little such
 * storage. The other TLS models of a shared library need a function call for each access. */
struct thread_self {
    struct shim_thread *thread;
    uint32_t refused; /* shim_page.generation of the recording in which this thread could get no state */
    uint32_t skips;   /* number of calls to skip before the next attempt to make the thread's state */
    bool ours;        /* the shim has started this thread, so its calls are not the program's */
};
extern __thread struct thread_self thread_self __attribute__((tls_model("initial-exec")));

/* Called once, when the shim is loaded. */
void threads_init(void);

/* Called in a forked child. If the thread's state lies in the live memory (record/live.h), which the child shares
 * with its parent, gives the child a private copy. */
void threads_after_fork(void);

/* Returns the calling thread's state; the thread's first call of this function makes it. Returns NULL if nothing is
 * recorded in this thread: shim_life.start returned false, there is no memory, a lock was not free in time, or there
 * are too many threads. */
struct shim_thread *thread_get(void);

/* Like thread_get, but makes no state: returns NULL if the thread has none. Also returns NULL in a forked child,
 * where the state is only a copy of the parent's. phase: the value of shim_phase(). */
static inline struct shim_thread *thread_of_phase(uint32_t phase)
{
    return phase & SHIM_STARTED ? thread_self.thread : NULL;
}

static inline struct shim_thread *thread_if_known(void)
{
    return thread_of_phase(shim_phase());
}

/* Starts a detached thread of the shim that takes no signals. Returns 0 or -errno. */
int thread_start(void *(*main)(void *));

/* For the drain thread: the state of the thread in this slot; NULL: the slot is free. */
enum { THREAD_SLOTS = 4096 };
struct shim_thread *thread_at(unsigned slot);
unsigned thread_slots_used(void);

/* Number of threads that made records in the last window (drain/cost.c); 0: not known. Written by the drain thread.
 */
extern _Atomic unsigned threads_recording;

/* Did just one thread make records in the last window? */
static inline bool thread_is_alone(void)
{
    return atomic_load_explicit(&threads_recording, memory_order_relaxed) == 1;
}

/* Has the thread ended? The kernel is asked. */
bool thread_is_gone(const struct shim_thread *thread);

/* Is the thread in a wrapped call? *in_nccl: is it in a call of NCCL? The thread goes on running, so the answers may
 * be out of date when this function returns. */
bool thread_is_in_call(const struct shim_thread *thread, bool *in_nccl);

/* Waits until no thread is in a wrapped call, for `patience` ns at most. Returns false if some thread is still in a
 * wrapped call after that. */
bool threads_leave_calls(int64_t patience);

/* Frees the state of a thread that is gone and whose ring has been read. */
void thread_retire(unsigned slot);

/* How many threads have a state now. */
unsigned thread_count(void);

/* The number of threads that ever got a state. */
uint32_t threads_begun(void);

/* How often, since the process started, thread_get could not make a state for its thread, or skipped the attempt. */
uint64_t threads_refused(void);

/* Count the unrecorded calls of threads that have no state yet: threads_pass_unknown adds one call,
 * threads_passed_unknown returns the count. */
void threads_pass_unknown(void);
uint64_t threads_passed_unknown(void);

#endif
