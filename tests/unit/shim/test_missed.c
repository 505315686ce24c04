/* Tests what happens if a thread does not get one of the shim's locks within its deadline: to the thread's operation,
 * to the list of allocated memory, and to the counts of lost records. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/calls/shape_cache.h"
#include "shim/drain/losses.h"
#include "shim/drain/recording.h"
#include "shim/drain/trace.h"
#include "shim/objects/functions.h"
#include "shim/objects/graphs.h"
#include "shim/objects/memory.h"
#include "shim/objects/streams.h"
#include "shim/state/lock.h"
#include "shim/state/registry.h"

enum { HANDLES = 7 };

struct shim_page shim_page;
struct ws_options shim_options;
static struct shim_thread state_of_thread, *thread = &state_of_thread;
static struct shim_stream stream = { .id = 1 };
static bool has_stream, asks_for_function;
static unsigned streams_asked;
static uint64_t lost[WS_LOSS_COUNT];
static pthread_t registry_holder;
/* state of the thread that takes a lock. 0: it does not hold the lock yet, 1: it holds the lock, 2: it must release
 * the lock */
static _Atomic int holder;

/* --- a lock that another thread holds ----------------------------------------------------------- */

static void *hold(void *which)
{
    bool taken = lock_take((enum shim_lock)(uintptr_t)which);
    holder = taken ? 1 : -1;
    while (taken && holder != 2)
        sched_yield();
    if (taken)
        lock_release((enum shim_lock)(uintptr_t)which);
    return NULL;
}

static pthread_t held_by_another(enum shim_lock which)
{
    pthread_t other;
    holder = 0;
    assert_int_equal(pthread_create(&other, NULL, hold, (void *)(uintptr_t)which), 0);
    while (!holder)
        sched_yield();
    assert_int_equal(holder, 1);
    return other;
}

static void let_go(pthread_t other)
{
    holder = 2;
    pthread_join(other, NULL);
}

/* --- stand-ins for the rest of the shim -------------------------------------------------------- */

struct shim_stream *stream_find(ws_CUstream handle, bool per_thread, struct shim_context *context)
{
    (void)handle, (void)per_thread, (void)context;
    streams_asked++;
    return has_stream ? &stream : NULL;
}

struct shim_context *context_of_thread(struct shim_thread *of, uint32_t handles)
{
    (void)of, (void)handles;
    return NULL;
}

uint32_t function_find(ws_CUfunction function)
{
    (void)function;
    if (!asks_for_function)
        return 1;
    bool had = registry_lock();
    if (had)
        registry_unlock();
    else
        let_go(registry_holder);
    return had ? 2 : 0;
}

uint32_t graph_id(ws_CUgraphExec exec)
{
    (void)exec;
    return 0;
}

void trace_add(enum ws_family family, const void *row)
{
    const struct ws_loss *loss = row;
    assert_int_equal(family, WS_FAMILY_loss);
    lost[loss->reason] += loss->count;
}

enum ws_loss_reason recording_off_reason(void)
{
    return WS_LOSS_RANGE;
}

struct shim_thread *thread_at(unsigned slot)
{
    (void)slot;
    return NULL;
}

unsigned thread_slots_used(void)
{
    return 0;
}

#define NONE(name)      \
    uint64_t name(void) \
    {                   \
        return 0;       \
    }
NONE(threads_refused)
NONE(shim_children)
NONE(threads_passed_unknown)

/* --- tests ------------------------------------------------------------------------------------- */

static int begin(void **state)
{
    (void)state;
    atomic_store(&shim_page.handles, HANDLES);
    memset(thread, 0, sizeof(*thread));
    has_stream = true;
    asks_for_function = false;
    streams_asked = 0;
    return 0;
}

static int open_all(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    return 0;
}

/* Makes one launch. Returns the entry of its shape, under which it is recorded; NULL: the launch is not recorded. */
static struct shape_entry *launch(uint64_t function)
{
    struct shape_key key = { .object = function, .grid_x = 1 };
    struct shape_entry *entry = shape_find(thread, &key, HANDLES);
    return entry ? entry : shape_fill(thread, &key, &(struct ws_shape){ .kind = WS_OP_KERNEL });
}

static void next_launch_tries_again(void **state)
{
    (void)state;
    pthread_t other = held_by_another(LOCK_REGISTRY);
    assert_null(launch(16));
    let_go(other);
    assert_non_null(launch(16));
    assert_int_equal(thread->unregistered, 1);
    assert_int_equal(thread->simplified, 0);
}

static void missing_context_passes(void **state)
{
    (void)state;
    has_stream = false;
    assert_null(launch(32));
    has_stream = true;
    assert_non_null(launch(32));
    assert_int_equal(thread->unregistered, 1);
}

static void full_table_is_not_asked_each_time(void **state)
{
    (void)state;
    has_stream = false;
    atomic_store(&registry.stream.count, registry.stream.limit);
    for (int i = 0; i < 1000; i++)
        assert_null(launch(48));
    atomic_store(&registry.stream.count, 0);
    assert_int_equal(streams_asked, 1);
    assert_int_equal(thread->unregistered, 1000);
}

static void unnamed_kernel_is_asked_for_again(void **state)
{
    (void)state;
    registry_holder = held_by_another(LOCK_REGISTRY);
    asks_for_function = true;
    struct shape_entry *entry = launch(64);
    assert_non_null(entry); /* the launch is recorded, as one of a kernel without a name */
    assert_int_equal(entry->function, 0);
    entry = launch(64);
    assert_non_null(entry);
    assert_int_equal(entry->function, 2);
}

static void memory_that_was_not_forgotten_is_not_believed(void **state)
{
    (void)state;
    bool complete;
    memory_added(4096, 4096, WS_SPACE_PINNED);
    assert_int_equal(memory_space(5000, &complete), WS_SPACE_PINNED);
    assert_true(complete);
    pthread_t other = held_by_another(LOCK_MEMORY);
    memory_removed(1 << 20); /* an address at which no block of memory is listed */
    assert_int_equal(memory_space(5000, &complete), WS_SPACE_PINNED);
    assert_true(complete);
    memory_removed(4096);
    let_go(other);
    assert_int_equal(memory_space(5000, &complete), WS_SPACE_UNKNOWN);
    assert_false(complete);
}

static void each_is_a_loss(void **state)
{
    (void)state;
    losses_add(0, 0);
    uint64_t before = lost[WS_LOSS_LOCKS];
    pthread_t other = held_by_another(LOCK_DESCRIPTORS);
    assert_false(lock_take(LOCK_DESCRIPTORS));
    let_go(other);
    losses_add(0, 0);
    losses_add(0, 0);
    assert_int_equal(lost[WS_LOSS_LOCKS], before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(next_launch_tries_again, begin),
        cmocka_unit_test_setup(missing_context_passes, begin),
        cmocka_unit_test_setup(full_table_is_not_asked_each_time, begin),
        cmocka_unit_test_setup(unnamed_kernel_is_asked_for_again, begin),
        cmocka_unit_test_setup(memory_that_was_not_forgotten_is_not_believed, begin),
        cmocka_unit_test_setup(each_is_a_loss, begin),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
