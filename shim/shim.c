#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bypass.h"
#include "counters.h"
#include "drain.h"
#include "driver_calls.h"
#include "elf_lookup.h"
#include "first_thread.h"
#include "functions.h"
#include "leave.h"
#include "lock.h"
#include "registry.h"
#include "resolve.h"
#include "rows.h"
#include "streams.h"
#include "ticks.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct shim_page shim_page;
struct ws_options shim_options;
bool shim_one_queue;

static _Atomic uint32_t generation;                /* of the latest recording: survives a fork, unlike the page */
static const struct ws_option_info *misunderstood; /* an option with a value that is none */
static _Atomic bool aside;                         /* given up for good */
static _Atomic uint64_t *children;                 /* shared with them */

/* Recording on and off. */
static int64_t started_at;
static uint64_t burst_on, burst_period;
static _Atomic int range_open;
static _Atomic uint32_t off_reason = WS_LOSS_RANGE; /* enum ws_loss_reason */
static _Atomic bool size_reached;

static void after_fork_in_child(void)
{
    /* Where the kernel cannot wipe the page. */
    atomic_store(&shim_page.phase, 0);
    shim_page.generation = 0;
    locks_reset();
    elf_after_fork();
    first_thread_after_fork();
}

/* Programs that set their title write over the environment they were started with. */
static void keep_texts(void)
{
    static char texts[8192];
    size_t used = 0;
    for (size_t i = 0; i < ws_option_count; i++) {
        const char **text = (const char **)((char *)&shim_options + ws_option_table[i].offset);
        if (ws_option_table[i].kind != WS_OPTION_TEXT)
            continue;
        size_t length = strlen(*text) + 1;
        if (length > sizeof(texts) - used) {
            *text = ws_option_table[i].fallback;
            continue;
        }
        memcpy(texts + used, *text, length);
        *text = texts + used;
        used += length;
    }
}

/* Before the first constructor ran the C library has not been told the environment. It lies on the stack behind the
 * arguments, whose number is where the stack began. */
static void find_environment(void)
{
    struct elf_object linker;
    void *const *end =
        environ || !elf_find_by_name("ld-linux", &linker) ? NULL : elf_symbol(&linker, "__libc_stack_end");
    const intptr_t *arguments = end ? *end : NULL;
    if (arguments)
        environ = (char **)(arguments + 1 + *arguments + 1);
}

static void prepare(void)
{
    const struct ws_option_info *bad;
    find_environment();
    ws_log_start();
    ws_options_from_environment(&shim_options, &bad);
    ws_log_set_level(*shim_options.log == 'q' ? WS_LOG_QUIET : *shim_options.log == 'd' ? WS_LOG_DEBUG : WS_LOG_WARN);
    misunderstood = bad;
    /* A program with more rights than its user's: nothing of ours is for it, and what the user asks for is not
     * obeyed. */
    if (getauxval(AT_SECURE)) {
        ws_log_set_level(WS_LOG_QUIET);
        aside = true;
        return;
    }
    keep_texts();
    ws_parse_burst(shim_options.burst, &burst_on, &burst_period);
    atomic_store(&range_open, *shim_options.capture_range != 'p');
    long page_size = sysconf(_SC_PAGESIZE);
    madvise(&shim_page, sizeof(shim_page), MADV_WIPEONFORK);
    locks_init();
    first_thread_watch();
    resolve_init();
    leave_prepare();
    threads_init();
    void *shared = mmap(NULL, (size_t)page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    children = shared == MAP_FAILED ? NULL : shared;
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* What is to be there before anything starts: once, by whoever needs it first. Libraries that the program is linked
 * with are made ready before this one, and may use CUDA then. Nobody waits long for another thread that is at it; in
 * a child that was forked meanwhile it is never done. */
static bool is_prepared(void)
{
    enum { NOTHING_YET, UNDER_WAY, DONE };
    static _Atomic uint32_t state;
    static _Atomic bool waited_in_vain;
    uint32_t seen = atomic_load_explicit(&state, memory_order_acquire);
    if (__builtin_expect(seen == DONE, 1))
        return true;
    struct shim_quiet quiet;
    int saved_errno = errno;
    quiet_begin(&quiet); /* a handler would wait for its own thread */
    if (atomic_compare_exchange_strong(&state, &seen, UNDER_WAY)) {
        prepare();
        atomic_store_explicit(&state, DONE, memory_order_release);
    }
    int64_t deadline = ws_clock_ns() + LOCK_DEADLINE_MS * (int64_t)1000000;
    while (atomic_load_explicit(&state, memory_order_acquire) != DONE && !atomic_load(&waited_in_vain)) {
        sched_yield();
        if (ws_clock_ns() > deadline)
            atomic_store(&waited_in_vain, true);
    }
    quiet_end(&quiet);
    errno = saved_errno;
    return atomic_load_explicit(&state, memory_order_acquire) == DONE;
}

__attribute__((constructor)) static void shim_load(void)
{
    is_prepared();
}

/* Handlers run in reverse order of their setting: set after cuInit and again after the first context, this one runs
 * before the driver's, whenever it sets that. */
static void at_exit(void)
{
    static _Atomic bool has_run;
    if (!(shim_phase() & SHIM_STARTED) || shim_phase() & SHIM_ENDED || atomic_exchange(&has_run, true))
        return;
    counters_end(NULL);
    drain_before_driver_exit();
    atomic_fetch_or(&shim_page.phase, SHIM_NO_MORE_TIMES);
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)(SHIM_TIMING | SHIM_COUNTING));
}

bool shim_ends(void)
{
    bool had_ended = atomic_fetch_or(&shim_page.phase, SHIM_ENDED) & SHIM_ENDED;
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)(SHIM_RECORDING | SHIM_TIMING | SHIM_COUNTING));
    return had_ended;
}

/* The last of all, when handlers and destructors of the program have run. */
__attribute__((destructor)) static void shim_unload(void)
{
    if (!generation)
        bypass_say();
    if (shim_started() && !shim_ends())
        drain_finish();
}

static void set_exit_handler(_Atomic bool *is_set)
{
    if (!atomic_exchange(is_set, true) && atexit(at_exit))
        atomic_store(is_set, false);
}

void shim_initialised(void)
{
    static _Atomic bool is_set;
    set_exit_handler(&is_set);
}

void shim_has_context(void)
{
    static _Atomic bool is_set;
    set_exit_handler(&is_set);
}

void shim_step_aside(const char *why)
{
    aside = true;
    atomic_fetch_or(&shim_page.phase, SHIM_ENDED);
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)(SHIM_STARTED | SHIM_RECORDING | SHIM_TIMING | SHIM_COUNTING));
    if (why)
        ws_warn("%s; the program goes on without being recorded", why);
}

/* Said only by processes that record: a launcher's other children have nothing to do with it. */
static void complain_of_options(void)
{
    const struct ws_option_info *bad = misunderstood;
    const char *value = bad ? secure_getenv(bad->variable) : NULL;
    char takes[128];
    if (value)
        ws_warn("%s=%s is not understood (%s); using %s", bad->variable, value,
                ws_option_takes(bad, takes, sizeof(takes)), *bad->fallback ? bad->fallback : "the default");
}

/* Is recording to be on, in this phase of the shim's? */
static bool wants_recording(uint32_t phase, int64_t now)
{
    uint64_t since = now > started_at ? (uint64_t)(now - started_at) : 0;
    bool in_range = !(phase & SHIM_OUT_OF_RANGE) && since >= shim_options.delay &&
                    (!shim_options.duration || since < shim_options.delay + shim_options.duration);
    if (shim_options.max_size && rows_bytes() >= shim_options.max_size)
        atomic_store(&size_reached, true);
    bool in_burst = !burst_period || since % burst_period < burst_on;
    bool full = atomic_load(&size_reached);
    if (full || !in_range || !in_burst)
        atomic_store(&off_reason, full ? WS_LOSS_SIZE_LIMIT : !in_range ? WS_LOSS_RANGE : WS_LOSS_BURST);
    return in_range && in_burst && !full && !aside;
}

/* What is on while recording is. */
static uint32_t recording_bits(uint32_t phase)
{
    if (phase & SHIM_NO_MORE_TIMES)
        return SHIM_RECORDING;
    return SHIM_RECORDING | (*shim_options.backend == 'e' ? SHIM_TIMING : 0) |
           (counters_wanted() ? SHIM_COUNTING : 0);
}

/* Recording begins with the start itself: calls of other threads are not let pass while the rest of it goes on. */
static uint32_t first_phase(void)
{
    uint32_t phase =
        SHIM_STARTED | (ticks_are_ns ? SHIM_NO_COUNTER : 0) | (atomic_load(&range_open) ? 0 : SHIM_OUT_OF_RANGE);
    return wants_recording(phase, started_at) ? phase | recording_bits(phase) : phase;
}

static bool start_parts(void)
{
    complain_of_options();
    ticks_choose();
    driver_calls_find();
    registry_init();
    if (rows_create()) {
        shim_step_aside(NULL); /* said already */
        return false;
    }
    atomic_fetch_or(&shim_page.phase, first_phase());
    if (drain_start()) {
        shim_step_aside("no thread could be started");
        return false;
    }
    return true;
}

bool shim_parent_recorded(void)
{
    return atomic_load(&generation) && !atomic_load(&shim_page.generation);
}

/* A child of a process that was recording cannot use CUDA itself: the driver says so. It is counted. */
static bool refuse_child(void)
{
    bool refused = shim_parent_recorded();
    if (refused && children)
        atomic_fetch_add(children, 1);
    return refused;
}

bool shim_start(void)
{
    /* Another thread may have started it: what that one made is seen from here on. */
    uint32_t phase = atomic_load_explicit(&shim_page.phase, memory_order_acquire);
    if (__builtin_expect(phase & SHIM_STARTED, 1))
        return !(phase & SHIM_ENDED);
    if (!is_prepared() || atomic_load_explicit(&aside, memory_order_relaxed) || refuse_child())
        return false;
    struct shim_quiet quiet;
    int saved_errno = errno;
    quiet_begin(&quiet); /* files are opened: no call there may be where the thread is cancelled */
    bool locked = lock_take(LOCK_START);
    if (locked && !(shim_phase() & (SHIM_STARTED | SHIM_ENDED)) && !aside) {
        /* In this order: no other thread may take this process for a child. */
        atomic_store(&shim_page.generation, atomic_load(&generation) + 1);
        atomic_store(&generation, atomic_load(&shim_page.generation));
        shim_page.pid = getpid();
        locks_open();
        const char *connections = secure_getenv("CUDA_DEVICE_MAX_CONNECTIONS");
        shim_one_queue = connections && !strcmp(connections, "1");
        started_at = ws_clock_ns();
        if (start_parts())
            leave_init();
    }
    if (locked)
        lock_release(LOCK_START);
    quiet_end(&quiet);
    errno = saved_errno;
    return (shim_phase() & (SHIM_STARTED | SHIM_ENDED)) == SHIM_STARTED;
}

void shim_set_range(bool inside)
{
    if (!is_prepared() || *shim_options.capture_range != 'p')
        return;
    atomic_store(&range_open, inside);
    if (!shim_start())
        return;
    if (inside)
        atomic_fetch_and(&shim_page.phase, ~(uint32_t)SHIM_OUT_OF_RANGE);
    else
        atomic_fetch_or(&shim_page.phase, SHIM_OUT_OF_RANGE);
    shim_update_phase(ws_clock_ns());
}

int64_t shim_next_edge(int64_t now)
{
    uint64_t since = now > started_at ? (uint64_t)(now - started_at) : 0, next = UINT64_MAX;
    const uint64_t edges[] = { shim_options.delay,
                               shim_options.duration ? shim_options.delay + shim_options.duration : 0 };
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        if (since < edges[i] && edges[i] - since < next)
            next = edges[i] - since;
    if (burst_period) {
        uint64_t at = since % burst_period, until = at < burst_on ? burst_on - at : burst_period - at;
        next = until < next ? until : next;
    }
    return next < INT64_MAX ? (int64_t)next : INT64_MAX;
}

/* Called by the drain, and by the program's thread at the edges of a range. All that decides and may change meanwhile
 * is in the one word: where that is another than the one looked at, it is decided anew. */
void shim_update_phase(int64_t now)
{
    uint32_t phase = atomic_load(&shim_page.phase), next;
    do {
        bool is_on = phase & SHIM_RECORDING;
        if ((phase & (SHIM_STARTED | SHIM_ENDED)) != SHIM_STARTED || wants_recording(phase, now) == is_on)
            return;
        next =
            is_on ? phase & ~(uint32_t)(SHIM_RECORDING | SHIM_TIMING | SHIM_COUNTING) : phase | recording_bits(phase);
        /* What the streams did meanwhile is not known. */
        for (uint32_t id = 1; !is_on && id <= stream_count(); id++)
            atomic_store(&stream_at(id)->fresh, 1);
    } while (!atomic_compare_exchange_weak(&shim_page.phase, &phase, next));
}

enum ws_loss_reason shim_off_reason(void)
{
    return (enum ws_loss_reason)atomic_load(&off_reason);
}

uint64_t shim_children(void)
{
    return children ? atomic_load(children) : 0;
}
