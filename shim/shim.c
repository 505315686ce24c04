/* The shim's life cycle. The first wrapper or constructor that runs prepares the shim. The program's first context
 * starts the recording. The shim's destructor ends the recording. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shim/calls/ops.h"
#include "shim/control/control.h"
#include "shim/drain/drain.h"
#include "shim/drain/leave.h"
#include "shim/drain/recording.h"
#include "shim/drain/trace.h"
#include "shim/hook/bypass.h"
#include "shim/hook/driver_calls.h"
#include "shim/hook/elf_lookup.h"
#include "shim/hook/resolve.h"
#include "shim/objects/thread.h"
#include "shim/stacks/stacks.h"
#include "shim/state/first_thread.h"
#include "shim/state/life.h"
#include "shim/state/lock.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"
#include "shim/timing/ticks.h"

static const struct ws_option_info *misunderstood; /* an option whose value could not be parsed; NULL: all options
                                                      were parsed */

static void after_fork_in_child(void)
{
    shim_page_reset();
    threads_after_fork();
    locks_reset();
    elf_after_fork();
    first_thread_after_fork();
}

/* Copies the options' texts out of the environment, because a program that sets its process title overwrites the
 * environment. */
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

/* Sets `environ`, from which the options are read, if the C library has not set it yet: this function may run before
 * the first constructor. __libc_stack_end points to argc on the stack. After argc come the arguments, a NULL and the
 * environment. */
static void find_environment(void)
{
    struct elf_object linker;
    void *const *end =
        environ || !elf_find_by_name("ld-linux", &linker) ? NULL : elf_symbol(&linker, "__libc_stack_end");
    const intptr_t *arguments = end ? *end : NULL;
    if (arguments)
        environ = (char **)(arguments + 1 + *arguments + 1);
}

static enum ws_log_level log_level(void)
{
    static const enum ws_log_level levels[] = {
        [WS_LOG_SAYS_NOTHING] = WS_LOG_QUIET, [WS_LOG_SAYS_WARNINGS] = WS_LOG_WARN, [WS_LOG_SAYS_ALL] = WS_LOG_DEBUG
    };
    return levels[shim_options.log];
}

static void prepare(void)
{
    const struct ws_option_info *bad;
    find_environment();
    ws_log_start();
    ws_options_from_environment(&shim_options, &bad);
    ws_log_set_level(log_level());
    misunderstood = bad;
    /* A program that has more rights than its user (set-user-ID) is not recorded, because the user's environment
     * variables must not control such a program. */
    if (getauxval(AT_SECURE)) {
        ws_log_set_level(WS_LOG_QUIET);
        shim_step_aside(NULL);
        return;
    }
    keep_texts();
    recording_prepare();
    shim_asleep = shim_options.start == WS_START_OFF && !*shim_options.collector;
    shim_page_init();
    locks_init();
    first_thread_watch();
    resolve_init();
    leave_prepare();
    threads_init();
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* Runs prepare() once, in the first thread that calls this function. The first call may come before our constructor
 * runs: constructors of the program's libraries may run earlier, and may use CUDA. Returns false if another thread is
 * still in prepare() after LOCK_DEADLINE_MS. In a child that is forked during prepare(), no thread completes
 * prepare(), so is_prepared returns false there for ever. */
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
    quiet_begin(&quiet); /* blocks signals: a handler that calls this function would wait for the thread that it
                            interrupted */
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

/* Warns of an option that could not be parsed. Called only when a recording starts, so that a process that records
 * nothing (such as the shell script that starts the program) prints no warning. */
static void complain_of_options(void)
{
    const struct ws_option_info *bad = misunderstood;
    const char *variable, *value = bad ? ws_option_in_environment(bad, &variable) : NULL;
    char takes[128];
    if (value)
        ws_warn("%s=%s is not understood (%s); using %s", variable, value, ws_option_takes(bad, takes, sizeof(takes)),
                *bad->fallback ? bad->fallback : "the default");
}

static bool start_parts(void)
{
    complain_of_options();
    ticks_choose();
    driver_calls_find();
    registry_init();
    stacks_start();
    if (trace_create()) {
        shim_step_aside(NULL); /* trace_create has printed the reason */
        return false;
    }
    atomic_fetch_or(&shim_page.phase, recording_start(ws_clock_ns()));
    if (drain_start()) {
        shim_step_aside("no thread could be started");
        return false;
    }
    if (shim_asleep && !shim_late)
        control_listen();
    return true;
}

/* Is this process a child of a process that was recording? If so, counts the call as refused: the driver does not
 * work in a child of a process that has used the driver. */
static bool refuse_child(void)
{
    bool refused = shim_parent_recorded();
    if (refused)
        shim_count_child();
    return refused;
}

static bool start(void)
{
    /* memory_order_acquire: if another thread has started the recording, this thread must see what that thread has
     * written. */
    uint32_t phase = atomic_load_explicit(&shim_page.phase, memory_order_acquire);
    if (__builtin_expect(phase & SHIM_STARTED, 1))
        return !(phase & SHIM_ENDED);
    if (!is_prepared() || shim_is_aside() || refuse_child())
        return false;
    struct shim_quiet quiet;
    int saved_errno = errno;
    quiet_begin(&quiet); /* open() is a cancellation point: pthread_cancel must not end the program's thread here */
    bool locked = lock_take(LOCK_START);
    if (locked && !(shim_phase() & (SHIM_STARTED | SHIM_ENDED)) && !shim_is_aside()) {
        shim_generation_begins();
        shim_page.pid = getpid();
        locks_open();
        const char *connections = secure_getenv("CUDA_DEVICE_MAX_CONNECTIONS");
        shim_one_queue = connections && !strcmp(connections, "1");
        if (start_parts())
            leave_init();
    }
    if (locked)
        lock_release(LOCK_START);
    quiet_end(&quiet);
    errno = saved_errno;
    return (shim_phase() & (SHIM_STARTED | SHIM_ENDED)) == SHIM_STARTED;
}

const struct shim_life shim_life = {
    .prepare = is_prepared,
    .start = start,
    .has_context = leave_has_context,
    .thread_ends = op_thread_ends,
};

/* Runs after the program's own exit handlers and destructors. */
__attribute__((destructor)) static void shim_unload(void)
{
    if (!shim_ever_started())
        bypass_say();
    if (shim_started() && !shim_ends())
        drain_finish();
}
