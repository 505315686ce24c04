/* The objects of the simulated GPU, and the functions of the engine's files.
 *
 * Time. All times inside the engine are host nanoseconds (CLOCK_MONOTONIC). A device's own clock is a linear function
 * of host time (clock.c). Times are converted where they leave the engine: in event times and the truth file.
 *
 * How an operation runs. A driver call describes work (struct sim_work). sim_submit turns the work into an operation
 * at the tail of a stream, or into a graph node while the stream captures. As soon as the ends of all its
 * dependencies are known, schedule.c computes the operation's start and end. This is the model: times are computed,
 * not measured by sleeping threads. Later, when a call waits or queries, or the queue is long, execute.c does the
 * real work of the operations whose end has passed: it moves the bytes or computes the kernel, in dependency order.
 * It also writes the operations' lines of the truth file. Host functions, waits for values and collectives end when
 * something outside the model happens. A driver thread (watch.c) finds out when.
 *
 * Locks, in this order: a device's primary_lock, sim_execute_lock (one executor at a time), sim_lock (everything
 * else). While a host function runs, neither sim_execute_lock nor sim_lock is held. While a kernel computes,
 * sim_execute_lock is held and sim_lock is not.
 *
 * A context may be destroyed, or a primary one reset, while other threads use it. From then on it accepts no work:
 * every function that queues work or creates an object first checks sim_alive, with sim_lock held. Work already
 * queued is done; then everything the context owns is freed. A call that looked up its stream or memory before the
 * destruction is refused, so it never touches freed objects. Streams of a destroyed context are not used again.
 *
 * Handles are pointers to structures whose memory is never returned to the system, so that a stale handle is
 * recognised by its magic number. */
#ifndef SIMGPU_ENGINE_H
#define SIMGPU_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"
#include "engine/config.h"
#include "engine/log.h"
#include "simgpu.h"

enum sim_magic {
    SIM_CONTEXT = 0x51c0de01,
    SIM_STREAM,
    SIM_EVENT,
    SIM_MODULE,
    SIM_LIBRARY,
    SIM_FUNCTION,
    SIM_KERNEL,
    SIM_GRAPH,
    SIM_NODE,
    SIM_EXEC,
    SIM_POOL,
    SIM_ARRAY,
    SIM_LINK,
};

enum sim_engine_id { SIM_ENGINE_NONE = -1, SIM_ENGINE_H2D, SIM_ENGINE_D2H, SIM_ENGINES };

struct sim_span {
    int64_t start, end;
};

/* A unit that does one thing at a time, such as a copy engine. `spans`: the times when it is busy, in order. */
struct sim_unit {
    struct sim_span *spans;
    unsigned count, capacity;
};

/* A real GPU model. Durations of kernels and values of device attributes follow from its figures. */
struct sim_model {
    const char *name;
    int major, minor, sms, clock_khz, memory_clock_khz, bus_bits, l2_bytes, max_shared;
    uint64_t memory_bytes;
    double bytes_per_ns, flops_per_ns;
    const char *chip; /* CUPTI's name of the chip, such as "GH100" */
};

struct sim_context;
struct sim_stream;
struct sim_capture;

struct sim_device {
    int ordinal;
    const struct sim_model *model;
    int64_t clock_offset;
    int64_t clock_drift_ppm;
    struct sim_unit units[SIM_ENGINES];
    struct sim_context *primary;
    pthread_mutex_t primary_lock; /* held while the primary context begins or ends; taken before sim_lock */
    unsigned primary_references, primary_flags;
    uint64_t memory_total, memory_used;
    struct sim_pool *default_pool, *current_pool;
    struct simgpu_counters counters; /* protected by sim_lock */
    ws_CUuuid uuid;
};

struct sim_dependency {
    struct sim_stream *stream;
    uint64_t number; /* the operation's number in that stream */
};

enum sim_kind {
    SIM_WORK_KERNEL,
    SIM_WORK_COPY,
    SIM_WORK_MEMSET,
    SIM_WORK_EVENT,
    SIM_WORK_WAIT,
    SIM_WORK_HOST,
    SIM_WORK_WAIT_VALUE,
    SIM_WORK_WRITE_VALUE,
    SIM_WORK_ALLOC,
    SIM_WORK_FREE,
    SIM_WORK_EMPTY,
    SIM_WORK_GRAPH_BEGIN,
    SIM_WORK_GRAPH_END,
};

/* A copy of depth × height rows of width bytes. */
struct sim_copy {
    char *to;
    const char *from;
    size_t width, height, depth, to_pitch, from_pitch, to_slice, from_slice;
    void *staging; /* copy of a small pageable source's bytes; NULL: none; freed after the operation */
};

struct sim_memset {
    char *to;
    size_t pitch, width, height; /* width in elements, pitch in bytes */
    unsigned value, element;
};

struct sim_arguments {
    unsigned references, count;
    size_t bytes;
    void **pointers; /* pointers[i] is the address of argument i in `values` */
    char values[];
};

struct sim_launch {
    struct sim_function *function;
    unsigned grid[3], block[3], shared_bytes;
    struct sim_arguments *arguments; /* copies of the kernel's arguments; NULL: no copies are needed */
    struct simgpu_work counted;
};

struct sim_work {
    enum sim_kind kind;
    enum sim_engine_id unit;
    bool overlaps; /* may begin while the previous kernel of the stream still runs (programmatic dependent launch) */
    const char *name;
    uint64_t bytes;
    int64_t duration;
    union {
        struct sim_launch launch;
        struct sim_copy copy;
        struct sim_memset memset;
        struct {
            struct sim_event *event;
            uint64_t generation;
        } event;
        struct {
            ws_CUhostFn function;
            ws_CUstreamCallback callback;
            ws_CUstream stream;
            void *argument;
        } host;
        struct {
            void *address;
            uint64_t value;
            unsigned flags, bytes;
        } value;
        struct {
            uint64_t address, bytes;
        } memory;
    };
};

/* How much of an operation's start and end is known. WAITING: the end of a dependency is not known yet. STARTED: the
 * start is known, but the end depends on something outside the model. RUNNING: after STARTED, the operation's host
 * function or begin function runs. POLLED: the operation has begun, and its poll function is called until it returns
 * the end. TIMED: start and end are known. */
enum sim_state { SIM_WAITING, SIM_STARTED, SIM_RUNNING, SIM_POLLED, SIM_TIMED };

struct sim_op {
    struct sim_op *next;
    struct sim_stream *stream;
    uint64_t number; /* the operation's number in its stream: 1 is the first */
    enum sim_state state;
    int tid;
    uint64_t correlation;
    int64_t submit, ready, start, end;
    struct sim_dependency *dependencies; /* operations whose real work must be done before that of this operation */
    unsigned dependency_count, dependency_capacity;
    struct sim_op **waiters; /* operations to notify when the end of this operation is known */
    unsigned waiter_count, waiter_capacity;
    unsigned unresolved; /* number of dependencies whose end is not known yet */
    struct sim_op *next_watched;
    bool ran;         /* the operation's real work is done */
    int64_t there_at; /* of a wait for a value: when the value was first seen in memory; 0: the last look has not
                         found it */
    struct sim_work work;
};

struct sim_stream {
    _Atomic enum sim_magic magic;
    struct sim_context *context;
    unsigned flags;
    int priority;
    uint64_t id;
    ws_CUstream handle; /* the handle that the program uses for the stream */
    atomic_bool destroyed;
    bool internal;
    struct sim_op *head, *tail, *waiting; /* waiting: the first operation without known times */
    unsigned count;
    uint64_t issued, done;
    int64_t last_start, last_end;
    bool last_was_kernel, last_was_event;
    struct sim_capture *_Atomic capture;
    struct sim_node **capture_tips; /* the nodes on which the next captured node will depend */
    unsigned capture_tip_count;
    struct sim_stream *next_in_context, *next_free, *next_to_settle, *next_busy, *previous_busy;
    bool to_settle;
};

struct sim_event {
    _Atomic enum sim_magic magic;
    struct sim_context *_Atomic context;
    atomic_uint flags;
    uint64_t generation; /* number of the event's newest cuEventRecord; only this record gives the event its time */
    bool recorded, timed;
    struct sim_stream *stream;
    uint64_t number;
    struct sim_op *op;
    int64_t end, device_time;
    struct sim_capture *_Atomic capture; /* if set, the event was recorded in this capture and has no time */
    struct sim_node **capture_tips;
    unsigned capture_tip_count;
    struct sim_event *next_in_context, *previous_in_context, *next_free;
};

struct sim_context {
    enum sim_magic magic;
    int number;
    struct sim_device *device;
    atomic_uint flags;
    unsigned references;
    int api_version;
    bool primary;
    atomic_bool destroyed;      /* the context accepts no work; its objects are or will soon be freed */
    _Atomic uint64_t id;        /* changes when a primary context is reset */
    _Atomic ws_CUresult sticky; /* a device error, which every later call returns */
    struct sim_stream *_Atomic legacy, *streams;
    struct sim_event *events;
    struct sim_module *modules;
    struct sim_context *next;
    size_t limits[16];
    int cache_config, shared_config;
    uint64_t peers; /* bit n: the context may access the memory of device n */
    /* Only for a green context: its primary context, its CUgreenCtx, and the id of the thread that has it current. */
    struct sim_context *whole;
    void *green;
    atomic_int holder;
};

extern pthread_mutex_t sim_lock, sim_execute_lock;
extern pthread_cond_t sim_changed; /* signalled when an operation gets its times or finishes */
extern struct sim_context *sim_contexts;
extern struct sim_stream *sim_busy; /* list of all streams with work, in no order */
extern struct sim_device sim_devices[];
extern int sim_device_count;

/* The result of sim_gate plus 1. The value 0 means that sim_gate returns NOT_INITIALIZED. A forked child must not use
 * the driver, because another thread may have held the driver's locks at the fork. So the operating system zeroes
 * this page in every forked child (MADV_WIPEONFORK), even if the child was made by a bare system call. */
struct sim_gate_page {
    _Alignas(65536) _Atomic int answer; /* aligned to the largest page size, so that nothing else is on its page */
};
extern struct sim_gate_page sim_gate_page;

/* The first check of nearly every driver call. Returns NOT_INITIALIZED, SUCCESS or DEINITIALIZED. */
static inline int sim_gate(void)
{
    int answer = atomic_load_explicit(&sim_gate_page.answer, memory_order_relaxed);
    return answer ? answer - 1 : WS_CUDA_ERROR_NOT_INITIALIZED;
}
extern __thread bool sim_per_thread __attribute__((tls_model("initial-exec")));

/* engine.c */
const char *sim_intern(const char *text);
void sim_misused(const char *what); /* called when the program used a stale handle or one of the wrong kind */
void *sim_keep(size_t bytes);       /* returns zeroed memory that is never freed, for the objects behind handles */
int sim_thread_id(void);
ws_CUresult sim_engine_init(void);
void sim_first_context(void);

/* clock.c */
extern int64_t sim_clock_origin; /* the host time at which each device's clock equals its clock_offset */
int64_t sim_now(void);
int64_t sim_device_time(const struct sim_device *device, int64_t host_ns);
void sim_spin_until(int64_t host_ns);
void sim_pay(int64_t ns); /* spins for this long in the calling thread: the cost of a call */
void sim_wait_until(int64_t host_ns);

/* device.c */
ws_CUresult sim_devices_init(void);
struct sim_device *sim_device_at(ws_CUdevice ordinal);

/* context.c. sim_current gives the calling thread's context, or returns the error that says why it has none. */
ws_CUresult sim_current(struct sim_context **context);
struct sim_context *sim_current_or_null(void);
ws_CUresult sim_context_check(const struct sim_context *context);
bool sim_context_known(const struct sim_context *context); /* whether the pointer is, or was, a context */
ws_CUresult sim_context_create(struct sim_context **created, unsigned flags, struct sim_device *device,
                               int api_version);
ws_CUresult sim_context_destroy(struct sim_context *context);
struct sim_context *sim_context_part(struct sim_context *whole, void *green);
/* The context that owns the modules and events: for a green context its primary context, else the context itself. */
static inline struct sim_context *sim_whole(struct sim_context *context)
{
    return context->whole ? context->whole : context;
}
/* Returns false when the context was destroyed before, or another thread is destroying it. */
bool sim_context_release_resources(struct sim_context *context);
ws_CUresult sim_context_push(struct sim_context *context);
ws_CUresult sim_context_pop(struct sim_context **popped);
void sim_context_set(struct sim_context *context);
ws_CUresult sim_context_wait(struct sim_context *context);
ws_CUresult sim_primary_retain(struct sim_device *device, struct sim_context **context);
ws_CUresult sim_primary_release(struct sim_device *device, bool reset);

/* stream.c. sim_alive returns SUCCESS if the stream accepts work; call it with sim_lock held. */
ws_CUresult sim_alive(const struct sim_stream *stream);
struct sim_stream *sim_stream_new(struct sim_context *context, unsigned flags, int priority);
ws_CUresult sim_stream_create(struct sim_context *context, unsigned flags, int priority, struct sim_stream **stream);
ws_CUresult sim_stream_get(ws_CUstream handle, struct sim_stream **stream);
void sim_stream_forget(struct sim_stream *stream);
ws_CUresult sim_stream_wait(struct sim_stream *stream);
bool sim_stream_idle(struct sim_stream *stream, int64_t now);

/* schedule.c. sim_submit queues an operation, and keeps the caller busy for host_ns, the cost of the driver call. */
ws_CUresult sim_submit(struct sim_stream *stream, struct sim_work *work, int64_t host_ns, uint64_t *number);
void sim_make_room(struct sim_stream *stream, unsigned most);
struct sim_op *sim_enqueue(struct sim_stream *stream, const struct sim_work *work, int64_t submit);
void sim_depend(struct sim_op *op, struct sim_op *on);
void sim_settle(struct sim_stream *stream);
void sim_op_timed(struct sim_op *op);
ws_CUresult sim_finish_through(struct sim_stream *stream, uint64_t number);
/* sim_last_queued: the number (correlation) of the newest operation of all streams. sim_finish_queued waits for the
 * stream's first operation, or for all its operations if none is newer than `last`. It releases the lock while it
 * waits. The stream must be busy. Call these two functions with sim_lock held. */
uint64_t sim_last_queued(void);
void sim_finish_queued(struct sim_stream *stream, uint64_t last);

/* execute.c. sim_drain does the real work of operations that have ended in the model. A caller that waits for a copy
 * calls sim_copy_meanwhile, which moves the bytes during the time that the copy takes in the model. Without it, the
 * call would take the model's time plus the time to move the bytes. */
void sim_drain(void);
void sim_copy_meanwhile(struct sim_stream *stream, uint64_t number);
bool sim_dependencies_done(const struct sim_op *op);
void sim_retire_head(struct sim_stream *stream);
bool sim_work_is_free(const struct sim_work *work);
void sim_arguments_release(struct sim_arguments *arguments);
void sim_work_finish(struct sim_work *work);

/* watch.c: the ends of some operations cannot be computed: waits for values, collectives. The driver thread looks
 * again and again whether they have ended. sim_watch (with sim_lock held) gives such an operation to the driver
 * thread. */
void sim_watch(struct sim_op *op);
/* sim_values_end (with sim_lock held) and sim_values_look (without) end the waits whose value is in memory. */
extern _Atomic unsigned sim_values_watched;
void sim_values_end(void);

/* Called when a wait for a value was put into its stream. From then on each driver call that queues, waits or queries
 * looks whether the value is in memory, because the driver thread may look much later. So a value that was stored
 * before such a driver call is seen in this call at the latest. */
void sim_value_queued(struct sim_op *op);
static inline void sim_values_look(void)
{
    if (__builtin_expect(atomic_load_explicit(&sim_values_watched, memory_order_relaxed) != 0, 0)) {
        pthread_mutex_lock(&sim_lock);
        sim_values_end();
        pthread_mutex_unlock(&sim_lock);
    }
}
extern __thread bool sim_in_callback __attribute__((tls_model("initial-exec")));

/* event.c */
ws_CUresult sim_event_create(struct sim_context *context, unsigned flags, struct sim_event **event);
void sim_event_recorded(struct sim_op *op);
void sim_event_settle(const struct sim_op *op);
void sim_event_wait(struct sim_op *op, const struct sim_event *event);
void sim_event_forget(struct sim_event *event);

/* memory.c */
enum sim_memory_kind { SIM_MEMORY_DEVICE, SIM_MEMORY_PINNED, SIM_MEMORY_REGISTERED, SIM_MEMORY_MANAGED };
struct sim_range {
    uint64_t start, bytes;
    enum sim_memory_kind kind;
    unsigned flags;
    uint64_t id;
    struct sim_context *context;
    struct sim_device *device;
    struct sim_pool *pool;
    bool mapped; /* mapped by cuMemMap or cuIpcOpenMemHandle; cuMemFree refuses it */
};
enum { SIM_POOL_THRESHOLD = 4, SIM_POOL_RESERVED, SIM_POOL_RESERVED_HIGH, SIM_POOL_USED, SIM_POOL_USED_HIGH };
struct sim_pool {
    enum sim_magic magic;
    struct sim_device *device;
    uint64_t attributes[13];
};
ws_CUresult sim_memory_allocate(struct sim_context *context, struct sim_device *device, enum sim_memory_kind kind,
                                uint64_t bytes, struct sim_range *range);
ws_CUresult sim_memory_free(uint64_t start, enum sim_memory_kind kind);
ws_CUresult sim_memory_free_found(const struct sim_range *found, enum sim_memory_kind kind);
uint64_t sim_memory_used(const struct sim_device *device);
bool sim_memory_charge(struct sim_device *device, int64_t bytes);
bool sim_memory_find(uint64_t address, struct sim_range *range);
ws_CUresult sim_memory_add(const struct sim_range *range);
bool sim_memory_remove(uint64_t start, struct sim_range *removed);
/* The pages of a range, as a file that other processes can map. */
struct sim_shared_block {
    uint64_t start, bytes;
    int file;
};
ws_CUresult sim_memory_share(const struct sim_range *range, struct sim_shared_block *block);
void sim_memory_unshare(uint64_t start);
void sim_memory_release_context(struct sim_context *context);
void *sim_memory_map(struct sim_device *device, uint64_t bytes, uint64_t alignment);

/* transfer.c. What the caller of a copy function says about the source or destination of the copy. ANY: the address
 * shows whether it is host or device memory. */
enum sim_side { SIM_SIDE_ANY, SIM_SIDE_HOST, SIM_SIDE_DEVICE };
/* Whether the calling thread waits for a copy. SYNC: only in a synchronous call. ALWAYS: also in an asynchronous
 * call. NEVER: the thread does not wait; for copies inside and between devices. STAGED: the thread does not wait,
 * because the small pageable source is copied into a buffer at once. */
enum sim_hold { SIM_HOLD_SYNC, SIM_HOLD_ALWAYS, SIM_HOLD_NEVER, SIM_HOLD_STAGED };
ws_CUresult sim_transfer(struct sim_stream *stream, const struct sim_copy *copy, enum sim_side from_side,
                         enum sim_side to_side, bool async);
ws_CUresult sim_transfer_describe(struct sim_work *work, const struct sim_device *device, const struct sim_copy *copy,
                                  enum sim_side from_side, enum sim_side to_side, enum sim_hold *hold);
ws_CUresult sim_memset_describe(struct sim_work *work, const struct sim_device *device, const struct sim_memset *what,
                                bool *pinned);

/* array.c */
struct sim_array {
    enum sim_magic magic;
    struct sim_context *context;
    size_t width, height, depth, width_bytes, pitch; /* width in elements, pitch in bytes */
    unsigned format, channels, flags;
    uint64_t address;
};
ws_CUresult sim_copy_describe(const ws_CUDA_MEMCPY3D *from, struct sim_copy *copy, enum sim_side *from_side,
                              enum sim_side *to_side);

/* kernels.c */
struct sim_kernel {
    const char *name;
    void (*run)(void **parameters, const unsigned grid[3], const unsigned block[3]);
    uint64_t (*duration)(void **parameters, const unsigned grid[3], const unsigned block[3]);
    simgpu_begin begin;
    simgpu_poll poll;
    double (*flops)(void **parameters);
    double (*bytes)(void **parameters);
    simgpu_count count;
    ws_CUresult fault; /* error that the device reports once this kernel has run */
};
const struct sim_kernel *sim_kernel_find(const char *name);
bool sim_computes_nothing(const struct sim_kernel *kernel); /* the kernel only takes time (SIMGPU_KERNEL_DATA=0) */
int64_t sim_kernel_duration(const struct sim_kernel *kernel, const char *name, struct sim_device *device,
                            void **parameters, const unsigned grid[3], const unsigned block[3]);
extern const struct sim_kernel sim_kernels[];
int64_t sim_jitter(int64_t duration, uint64_t key);

#include "engine/module.h"

/* capture.c: what a stream capture does to a call. Sets *captured to true if the call was added to a graph or was
 * refused. */
ws_CUresult sim_capture_forbids(struct sim_context *context);
ws_CUresult sim_capture_implicit(const struct sim_stream *stream);
ws_CUresult sim_capture_forbids_sync(struct sim_stream *stream);
ws_CUresult sim_capture_forbids_stream(struct sim_stream *stream);
ws_CUresult sim_capture_forbids_event(struct sim_event *event);
ws_CUresult sim_capture_unsafe(void);
void sim_capture_minds(struct sim_stream *stream);
ws_CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event, unsigned flags, bool *captured);
ws_CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event, unsigned flags, bool *captured);
ws_CUresult sim_capture_work(struct sim_stream *stream, const struct sim_work *work, bool *captured);
void sim_capture_abandon(struct sim_stream *stream);

/* launch.c */
ws_CUresult sim_launch_describe(struct sim_work *work, struct sim_function *function, struct sim_context *context,
                                const unsigned shape[7], void **parameters, void **extra, bool keep);

/* counters.c */
void sim_count_launch(struct simgpu_work *work, const struct sim_kernel *kernel, void **parameters,
                      const unsigned grid[3], const unsigned block[3]);
void sim_count_end(const struct sim_op *op); /* call with sim_lock held */

/* truth.c */
void sim_truth_write(const struct sim_op *op); /* call with sim_lock held */
bool sim_truth_full(void);
void sim_truth_flush(void);
extern pthread_mutex_t sim_truth_lock;

#endif
