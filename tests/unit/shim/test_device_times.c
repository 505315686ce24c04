/* Tests of shim/timing/device_clock: times and their errors in exact numbers, and the clock of a device with one
 * hardware queue. On such a device, events of the shim's own would wait behind the program's work. So its clock is
 * followed by the events of the program's operations. One of these events is the base, from which the driver measures
 * the times of the others. */
#include <sys/mman.h>

#include "fake_device.h"

/* --- times and errors in exact numbers -------------------------------------------------------- */

static void a_time_is_rounded_and_has_the_error_of_its_float(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        float ms;
        uint32_t error;
    } cases[] = { { 2, 0.0000016f, 501 },         { -2, -0.0000016f, 501 },   { 1000000, 1.0f, 501 },
                  { 123456779, 123.45678f, 508 }, { 100000000, 100.0f, 508 }, { -100000000, -100.0f, 508 },
                  { 1000000000, 1000.0f, 562 } };
    context.base[0] = (struct clock_base){ .time = 5000, .known = true };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t time;
        uint32_t error;
        elapsed_ms = cases[i].ms;
        assert_int_equal(device_clock_read(&context, NULL, &time, &error), WS_CUDA_SUCCESS);
        assert_int_equal(time, 5000 + cases[i].ns);
        assert_int_equal(error, cases[i].error);
    }
}

static void check_from_host(int64_t host, int64_t expected, int64_t expected_error)
{
    int64_t error;
    assert_in_range(device_clock_from_host(&context, host, &error) - expected + 1, 0, 2); /* ± 1 ns of rounding */
    assert_in_range(error - expected_error + 1, 0, 2);
}

static void a_host_time_is_as_exact_as_the_drift(void **state)
{
    (void)state;
    /* The host's clock gains 40 ppb on the device's: 400 ns in ten seconds, known to ± (300 + 100) ns. */
    static const int64_t offset = 100ll * SECOND;
    context.first_fit = (struct clock_fit){ 0, offset, 300 };
    context.last_fit = (struct clock_fit){ 10ll * SECOND, offset + 400, 100 };
    check_from_host(offset + 10ll * SECOND + 400, 10ll * SECOND, 100);
    check_from_host(offset + 20ll * SECOND + 800, 20ll * SECOND, 100 + 400);
    check_from_host(offset, 0, 100 + 400); /* the error grows for times before the last comparison, too */
    /* A drift is not used if its error may be larger than the drift of any crystal oscillator. */
    context.first_fit.error = 2000000;
    check_from_host(offset + 20ll * SECOND + 400, 20ll * SECOND, 100 + 1000000);
    /* A drift from two comparisons close to each other is not used. */
    context.first_fit = (struct clock_fit){ 10ll * SECOND - 199000000, offset, 0 };
    context.last_fit.error = 0;
    check_from_host(offset + 11ll * SECOND + 400, 11ll * SECOND, 100000);
    context.first_fit.device_ns = 9ll * SECOND;
    check_from_host(offset + 11ll * SECOND + 400, 11ll * SECOND - 400, 0);
}

/* --- with one hardware queue -------------------------------------------------------------------- */

static int open_one_queue(void **state)
{
    begin_anew(state);
    context.one_queue = true;
    return event_pool_init(&context.pool, POOL) || event_pool_grow(&context.pool, POOL);
}

static int close_one_queue(void **state)
{
    (void)state;
    return munmap(context.pool.events, POOL * sizeof(struct pool_event));
}

/* Takes an event and records it behind an operation that is launched now. The event passes 5 µs later. */
static uint32_t operation(void)
{
    uint32_t kept, event = event_take(&context.pool, 1, &kept);
    mark(event_at(&context.pool, event)->handle, 5000);
    return event;
}

static unsigned users_of(uint32_t event)
{
    return atomic_load(&event_at(&context.pool, event)->users);
}

/* Reads an event's time and lets the clock learn from it, as times_read does. */
static void learn(uint32_t event, int64_t launched)
{
    struct pool_event *read = event_at(&context.pool, event);
    device_clock_read(&context, read->handle, &read->time, &read->error);
    device_clock_learn(&context, event, launched);
}

static void an_operations_event_is_the_first_base(void **state)
{
    (void)state;
    int64_t launched = now;
    uint32_t event = operation();
    device_clock_begin(&context, event, launched);
    assert_false(device_clock_known(&context)); /* the event has not passed */
    assert_false(device_clock_keep(&context, now, &row));
    assert_int_equal(records, 0); /* the shim records no event of its own, as it would not pass soon */
    now += 6000;
    device_clock_begin(&context, event, INT64_MIN);
    assert_false(device_clock_known(&context));
    device_clock_begin(&context, event, launched);
    assert_true(device_clock_known(&context));
    assert_int_equal(context.base[0].time, launched);
    assert_int_equal(users_of(event), 2); /* one user is the clock, so the event does not go back to the pool */
    uint32_t other = operation();
    now += 6000;
    device_clock_begin(&context, other, launched + 1);
    assert_int_equal(context.base[0].event, event);
    assert_int_equal(context.base[0].time, launched);
}

/* An event passes after its launch, and before the shim finds that it has passed. The tightest of these bounds within
 * 250 ms give the difference of the clocks. */
static void events_bound_how_far_the_clocks_are_apart(void **state)
{
    (void)state;
    static const int64_t found_after[] = { 90000, 30000, 60000 }, late[] = { 4000, 0, 2000 };
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        int64_t launched = now - late[i % 3];
        uint32_t event = operation();
        now += found_after[i % 3];
        device_clock_begin(&context, event, launched);
        if (!i)
            context.next_fit = now + 100000000;
        if (i == 3)
            now = context.next_fit;
        learn(event, launched);
        int64_t time = event_at(&context.pool, event)->time;
        low = ws_max(low, launched - time);
        high = ws_min(high, now - time);
        if (i < 3) {
            assert_int_equal(context.offset_low, low);
            assert_int_equal(context.offset_high, high);
            assert_int_equal(context.fits, 0);
        }
    }
    assert_int_equal(context.fits, 1);
    int64_t half = (high - low) / 2;
    assert_int_equal(context.last_fit.offset, low + half);
    /* 25 µs: the clocks may drift by 100 ppm of 250 ms */
    assert_int_equal(context.last_fit.error, half + RESOLUTION + 25000);
    assert_int_equal(context.submit_ns, ONE_QUEUE_SUBMIT);
    assert_int_equal(context.next_fit, now + 250000000);
    assert_true(context.offset_low == INT64_MIN && context.offset_high == INT64_MAX);
    check_conversion(now);
    assert_true(device_clock_keep(&context, now, &row));
    assert_int_equal(row.host_ns - row.device_ns, low + half);
    assert_false(device_clock_keep(&context, now, &row));
}

static void bounds_that_contradict_each_other_begin_anew(void **state)
{
    (void)state;
    int64_t launched = now;
    uint32_t event = operation();
    now += 6000;
    device_clock_begin(&context, event, launched);
    context.next_fit = now + SECOND;
    learn(event, launched);
    int64_t low = context.offset_low, high = context.offset_high;
    assert_int_equal(high - low, now - launched);
    learn(event, INT64_MIN); /* INT64_MIN: the event's launch time is not known */
    assert_true(context.offset_low == low && context.offset_high == high);
    learn(event, now + 1000000);
    assert_true(context.offset_low == INT64_MIN && context.offset_high == INT64_MAX);
    context.one_queue = false;
    context.next_fit = 0;
    learn(event, launched);
    assert_int_equal(context.fits, 0);
}

static void a_new_base_lets_go_of_the_old_one(void **state)
{
    (void)state;
    uint32_t events_before[3];
    for (int i = 0; i < 3; i++) {
        int64_t launched = now - 1000 * i;
        uint32_t event = events_before[i] = operation();
        now += 6000;
        device_clock_begin(&context, event, launched);
        int64_t origin = truth(0);
        learn(event, launched);
        assert_int_equal(context.base[0].event, event);
        assert_int_equal(users_of(event), 2);
        assert_true(llabs(truth(0) - origin) < 100);
        if (i)
            assert_int_equal(users_of(events_before[i - 1]), 1);
        now += SECOND - 1000000;
        uint32_t soon = operation();
        now += 6000;
        /* this event is less than a second after the base event, so the base does not change */
        learn(soon, launched);
        assert_int_equal(context.base[0].event, event);
        event_release(&context.pool, soon);
        now += 1000000;
    }
}

int main(void)
{
#define ONE_QUEUE(test) cmocka_unit_test_setup_teardown(test, open_one_queue, close_one_queue)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_time_is_rounded_and_has_the_error_of_its_float, begin_anew),
        cmocka_unit_test_setup(a_host_time_is_as_exact_as_the_drift, begin_anew),
        ONE_QUEUE(an_operations_event_is_the_first_base),
        ONE_QUEUE(events_bound_how_far_the_clocks_are_apart),
        ONE_QUEUE(bounds_that_contradict_each_other_begin_anew),
        ONE_QUEUE(a_new_base_lets_go_of_the_old_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
