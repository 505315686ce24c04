/* Tests of shim/drain/recording: how recording keeps to --overhead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shim/drain/recording.c" // NOLINT(bugprone-suspicious-include)

static const int64_t MS = 1000000, WINDOW = 100 * MS;

/* What recording.c needs of the rest of the shim. */
struct shim_page shim_page;
struct ws_options shim_options;
_Atomic bool ticks_are_ns;
_Atomic bool shim_asleep;
const struct shim_life shim_life;

uint64_t trace_bytes(void)
{
    return 0;
}

bool counters_wanted(void)
{
    return false;
}

bool shim_is_aside(void)
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

void wake_drain_soon(void)
{
}

static int64_t now;

static int begin_anew(void **state)
{
    (void)state;
    now = ws_clock_ns();
    shim_options = (struct ws_options){ .burst = "" };
    recording_prepare();
    atomic_store(&shim_page.phase, recording_start(now));
    recording_govern(0, WINDOW); /* a window without records */
    return 0;
}

static bool is_paused(void)
{
    return atomic_load(&paused_until) > now;
}

/* Records that cost three quarters of the share leave a quarter for events. */
static void records_within_their_part_go_on(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        recording_govern(0.74, WINDOW);
    assert_false(recording_is_thinned());
    assert_false(is_paused());
}

/* Records that cost more first lose parameters. After three windows recording pauses. Over records and pauses, the
 * average cost is three quarters of the share. */
static void records_beyond_their_part_pause(void **state)
{
    (void)state;
    recording_govern(0.9, WINDOW);
    assert_true(recording_is_thinned());
    assert_false(is_paused());
    recording_govern(0.9, WINDOW);
    assert_false(is_paused());
    recording_govern(0.93, WINDOW); /* a pause of 24 ms is due */
    assert_true(is_paused());
    assert_in_range(atomic_load(&paused_until) - now, 24 * MS - 1, 24 * MS + 1000 * MS);
    assert_false(atomic_load(&shim_page.phase) & SHIM_RECORDING);
    assert_int_equal(recording_off_reason(), WS_LOSS_OVERHEAD);
}

/* A peak of two windows has no effect but on parameters, which come back when the cost has halved. */
static void a_short_peak_pauses_nothing(void **state)
{
    (void)state;
    recording_govern(5, WINDOW);
    recording_govern(5, WINDOW);
    recording_govern(0.5, WINDOW);
    assert_true(recording_is_thinned());
    recording_govern(0.3, WINDOW);
    assert_false(recording_is_thinned());
    recording_govern(5, WINDOW);
    recording_govern(-1, 0); /* no window has ended */
    recording_govern(5, WINDOW);
    assert_false(is_paused());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(records_within_their_part_go_on, begin_anew),
        cmocka_unit_test_setup(a_short_peak_pauses_nothing, begin_anew),
        cmocka_unit_test_setup(records_beyond_their_part_pause, begin_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
