/* The shim's phase: idle until the program's first context, after that recording (always, in bursts, or in a range),
 * and at last ended. Every wrapper (a function of the shim that the program calls in place of the driver's) looks at
 * the phase first. While nothing is recorded, most wrappers only call the driver. The phase is set by the life cycle
 * (shim.c), and by drain/recording.c, which turns recording on and off. Other files change single bits of the
 * phase. */
#ifndef WALLSHIM_SHIM_STATE_PHASE_H
#define WALLSHIM_SHIM_STATE_PHASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/options.h"

enum shim_phase {
    SHIM_STARTED = 1,     /* the shim's tables are ready, and its drain thread runs or is about to start */
    SHIM_RECORDING = 2,   /* operations and waits are recorded now */
    SHIM_TIMING = 4,      /* device times of operations are measured now */
    SHIM_ENDED = 8,       /* nothing is recorded any more: at exit, or after a failure of the shim */
    SHIM_NO_COUNTER = 16, /* the processor has no reliable tick counter: see timing/ticks.h */
    SHIM_COUNTING = 32,   /* hardware counters are read for some launches: see counters/counters.h */
    /* The program is outside of the range that it marks by cuProfilerStart and cuProfilerStop. */
    SHIM_OUT_OF_RANGE = 64,
    SHIM_NO_MORE_TIMES = 128, /* the driver is about to shut down: no more device times or hardware counters */
    /* A phase with exactly the bits SHIM_STARTED and SHIM_RECORDING: operations are recorded, without device times or
     * counters. */
    SHIM_PLAIN = SHIM_STARTED | SHIM_RECORDING,
    /* This bit and the higher bits hold the number of streams that are being captured, as far as the shim knows. */
    SHIM_CAPTURE = 256,
};

enum {
#if defined(__aarch64__)
    SHIM_PAGE_SIZE = 65536, /* the largest page size of Linux on this architecture */
#else
    SHIM_PAGE_SIZE = 4096,
#endif
};

/* State in a page of its own. The page reads as zero in a forked child, even if the child was made by a bare system
 * call. So the child never uses its parent's state. */
struct shim_page {
    _Alignas(SHIM_PAGE_SIZE) _Atomic uint32_t phase; /* bits of enum shim_phase */
    /* Id of the process that records; a child made by vfork shares this page, but has another process id. */
    int32_t pid;
    _Atomic uint32_t generation; /* number of this process's latest recording; 0: none yet, as in every new child */
    _Atomic uint32_t handles;    /* incremented when the driver may have reused a handle for another object */
};

extern __attribute__((visibility("hidden"))) struct shim_page shim_page;
extern struct ws_options shim_options;
extern bool shim_one_queue; /* CUDA_DEVICE_MAX_CONNECTIONS=1: all streams share one hardware queue */

/* True while the shim sleeps: there is no trace, and nothing is prepared for recording. A session (a recording that
 * `wallshim attach` begins, drain/session.h) wakes the shim. Always false in a process that records into one trace
 * from its start on. */
extern _Atomic bool shim_asleep;

/* The shim was loaded into a program that was already running (shim/late.c). */
extern bool shim_late;

static inline uint32_t shim_phase(void)
{
    return atomic_load_explicit(&shim_page.phase, memory_order_relaxed);
}

static inline uint32_t shim_captures(void)
{
    return shim_phase() / SHIM_CAPTURE;
}

static inline void shim_capture_begins(void)
{
    atomic_fetch_add(&shim_page.phase, SHIM_CAPTURE);
}

static inline void shim_capture_ends(void)
{
    atomic_fetch_sub(&shim_page.phase, SHIM_CAPTURE);
}

/* Must the shim keep its state (of contexts, streams …) up to date? False before the recording's start. Also false in
 * a forked child: at the fork, other threads of the parent may have been in the middle of a change of this state. */
static inline bool shim_started(void)
{
    return (shim_phase() & SHIM_STARTED) != 0;
}

static inline bool shim_recording(void)
{
    return __builtin_expect((shim_phase() & SHIM_RECORDING) != 0, 1);
}

/* Called when the driver may have reused a handle for another object. Invalidates all entries of the threads' caches
 * that are found by a handle. */
static inline void shim_forget_handles(void)
{
    atomic_fetch_add_explicit(&shim_page.handles, 1, memory_order_release);
}

/* Asks the kernel to zero shim_page in forked children. Called once. */
void shim_page_init(void);

/* Zeroes phase and generation. Called in a forked child, because kernels before Linux 4.14 do not zero shim_page
 * there. */
void shim_page_reset(void);

/* Called when the recording begins. After this call, shim_parent_recorded is false in this process. */
void shim_generation_begins(void);

/* Has a recording ever begun, in this process or in its parent? */
bool shim_ever_started(void);

/* Is this a child of a process that was recording? Such a child never records. */
bool shim_parent_recorded(void);

/* CUDA calls in forked children of this process are not recorded. shim_count_child counts one more of these calls;
 * shim_children returns their number. */
void shim_count_child(void);
uint64_t shim_children(void);

/* Ends the recording. Returns true if it had ended before. */
bool shim_ends(void);

/* shim_step_aside gives up recording for good. `why` is printed on stderr; NULL: nothing is printed. shim_is_aside:
 * has shim_step_aside been called? */
void shim_step_aside(const char *why);
bool shim_is_aside(void);

#endif
