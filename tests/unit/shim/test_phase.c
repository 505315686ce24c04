/* Tests of switching recording on while another thread does the opposite: it ends recording, leaves the range in
 * which the program wants to be recorded, or ends the measuring of device times. The other thread's change must
 * prevail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* These files are compiled in here, so that the test can use their static variables and the exit handler. The
 * functions below replace the rest of the shim. Two of them do something: drain_start notes the phase (whether the
 * shim records), and trace_bytes runs `others`. When recording.c calls trace_bytes, recording.c has read the clock
 * and has not yet changed the phase. */
#include "shim/drain/leave.c"     // NOLINT(bugprone-suspicious-include)
#include "shim/drain/recording.c" // NOLINT(bugprone-suspicious-include)
#include "shim/shim.c"            // NOLINT(bugprone-suspicious-include)

static void (*others)(void);
static uint32_t phase_at_drain_start;
_Atomic bool ticks_are_ns;

uint64_t trace_bytes(void)
{
    void (*now)(void) = others;
    others = NULL;
    if (now)
        now();
    return 0;
}

int drain_start(void)
{
    phase_at_drain_start = shim_phase();
    return 0;
}

int trace_create(void)
{
    return 0;
}

bool counters_wanted(void)
{
    return false;
}

uint32_t stream_count(void)
{
    return 0;
}

struct shim_stream *stream_at(uint32_t id)
{
    (void)id;
    return NULL;
}

void counters_end(struct shim_context *context)
{
    (void)context;
}

bool elf_find_by_name(const char *prefix, struct elf_object *object)
{
    (void)prefix, (void)object;
    return false;
}

void *elf_symbol(const struct elf_object *object, const char *name)
{
    (void)object, (void)name;
    return NULL;
}

void *resolve_next(const char *symbol)
{
    (void)symbol;
    return NULL;
}

void op_thread_ends(struct shim_thread *thread)
{
    (void)thread;
}

#define NOTHING(name) \
    void name(void)   \
    {                 \
    }
NOTHING(drain_before_driver_exit)
NOTHING(control_listen)
NOTHING(drain_finish)
NOTHING(driver_calls_find)
NOTHING(first_thread_watch)
NOTHING(elf_after_fork)
NOTHING(first_thread_after_fork)
NOTHING(drain_leave)
NOTHING(resolve_init)
NOTHING(threads_init)
NOTHING(threads_after_fork)
NOTHING(ticks_choose)
NOTHING(stacks_start)
NOTHING(bypass_say)

static const int64_t second = 1000000000;

/* Begins each test inside the range that the program marked for recording. Periodic recording (bursts) is off. */
static int begin(void **state)
{
    (void)state;
    atomic_store(&shim_page.phase, 0);
    others = NULL;
    shim_options.max_size = UINT64_MAX;
    shim_options.backend = WS_BACKEND_EVENTS;
    shim_options.capture_range = WS_RANGE_PROFILER;
    atomic_store(&range_open, 1);
    burst_on = burst_period = 0;
    assert_true(start());
    return 0;
}

static void leave_range(void)
{
    recording_set_range(false);
}

static void enter_range(void)
{
    recording_set_range(true);
}

static void end(void)
{
    shim_ends();
}

static void times_end(void)
{
    static const uint32_t off = SHIM_TIMING | SHIM_COUNTING;
    at_exit();
    assert_int_equal(shim_phase() & off, 0);
}

/* Recording is off, and by the clock it should be on. While this thread switches it on, another thread does
 * `something`. */
static void comes_on_while(void (*something)(void))
{
    atomic_fetch_and(&shim_page.phase, ~(uint32_t)(SHIM_RECORDING | SHIM_TIMING));
    others = something;
    recording_update(started_at);
    assert_null(others);
}

static void recording_begins_with_the_start(void **state)
{
    (void)state;
    assert_int_equal(phase_at_drain_start, SHIM_STARTED | SHIM_RECORDING | SHIM_TIMING);
}

static void end_of_range_is_kept(void **state)
{
    (void)state;
    comes_on_while(leave_range);
    assert_int_equal(shim_phase() & (SHIM_RECORDING | SHIM_TIMING), 0);
    comes_on_while(enter_range);
    assert_int_equal(shim_phase() & (SHIM_RECORDING | SHIM_TIMING), SHIM_RECORDING | SHIM_TIMING);
}

static void end_is_kept(void **state)
{
    (void)state;
    comes_on_while(end);
    assert_int_equal(shim_phase() & (SHIM_ENDED | SHIM_RECORDING | SHIM_TIMING), SHIM_ENDED);
}

static void no_times_after_exit_began(void **state)
{
    (void)state;
    burst_on = 5000000;
    burst_period = 10000000;
    comes_on_while(times_end);
    assert_int_equal(shim_phase() & (SHIM_RECORDING | SHIM_TIMING), SHIM_RECORDING);
    recording_update(started_at + second + 7000000);
    assert_int_equal(shim_phase() & (SHIM_RECORDING | SHIM_TIMING), 0);
    recording_update(started_at + second + 12000000);
    assert_int_equal(shim_phase() & (SHIM_RECORDING | SHIM_TIMING), SHIM_RECORDING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(recording_begins_with_the_start, begin),
        cmocka_unit_test_setup(end_of_range_is_kept, begin),
        cmocka_unit_test_setup(end_is_kept, begin),
        cmocka_unit_test_setup(no_times_after_exit_began, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
