/* Tests of the live figures of a device: busy times as unions of intervals, causes of gaps, storms (series of short
 * kernels that the device waits for), and operations that arrive late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/figures_device.h"

enum { MS = 1000000, US = 1000, SLOTS = 4000 };

static struct figures_memory memory;
static struct figures_device device;
static struct figures_waits waits;

static int set_up(void **state)
{
    (void)state;
    memory = (struct figures_memory){ .limit = 1 << 24 };
    device = (struct figures_device){ 0 };
    memset(&waits, 0, sizeof(waits));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    figures_device_finish(&device, &memory);
    figures_waits_finish(&waits, &memory);
    return memory.used != 0;
}

/* Adds an operation that thread 1 launched at time `launch`. */
static void add(int64_t launch, int64_t begin, int64_t end, enum figures_group group)
{
    const struct figures_op op = { begin, end, launch, launch + 2 * US, 1, group };
    figures_device_add(&device, &memory, &waits, &op);
}

static int64_t all_gaps(void)
{
    int64_t sum = 0;
    for (int i = 0; i < FIGURES_CAUSE_COUNT; i++)
        sum += device.gap_ns[i];
    return sum;
}

/* Adds random operations out of their order in time: each place of the list is swapped with one at most 299 places
 * later. The results are compared with a table of what runs at each time. */
static void times_are_unions(void **state)
{
    (void)state;
    static uint8_t runs[SLOTS];
    static struct figures_op ops[3000];
    int64_t busy = 0, exposed = 0, group[FIGURES_GROUPS] = { 0 }, first = SLOTS, last = 0;
    srand(7);
    memset(runs, 0, sizeof(runs));
    for (size_t i = 0; i < 3000; i++) {
        int64_t begin = (int64_t)i * (SLOTS - 100) / 3000 + rand() % 5, length = 1 + rand() % (i % 40 ? 3 : 60);
        if (begin % 50 > 40)
            length = 0; /* an operation of no length leaves a gap */
        ops[i] = (struct figures_op){ begin, begin + length, begin, begin, 1, (uint32_t)rand() % FIGURES_GROUPS };
        for (int64_t at = begin; at < begin + length; at++)
            runs[at] |= (uint8_t)(1 << ops[i].group);
    }
    for (size_t i = 0; i + 300 < 3000; i++) {
        size_t other = i + (size_t)rand() % 300;
        struct figures_op one = ops[i];
        ops[i] = ops[other];
        ops[other] = one;
    }
    for (int64_t at = 0; at < SLOTS; at++) {
        busy += runs[at] != 0;
        exposed += runs[at] & 1 << FIGURES_COMMUNICATION && !(runs[at] & 1 << FIGURES_COMPUTE);
        first = runs[at] && at < first ? at : first;
        last = runs[at] ? at : last;
        for (int i = 0; i < FIGURES_GROUPS; i++)
            group[i] += runs[at] >> i & 1;
    }
    for (size_t i = 0; i < 3000; i++)
        if (ops[i].end > ops[i].begin)
            figures_device_add(&device, &memory, &waits, &ops[i]);
    figures_device_settle(&device, &waits);
    assert_int_equal(device.busy_ns, busy);
    assert_int_equal(device.exposed_ns, exposed);
    for (int i = 0; i < FIGURES_GROUPS; i++)
        assert_int_equal(device.group_ns[i], group[i]);
    assert_int_equal(all_gaps(), last + 1 - first - busy);
    assert_int_equal(device.late, 0);
}

/* The sweep is the pass over sorted operations that adds up their times. It stays half a second behind the newest
 * operation, because operations may arrive out of order. */
static void late_operations_count_from_the_sweep_on(void **state)
{
    (void)state;
    add(0, 0, 10 * MS, FIGURES_COMPUTE);
    add(0, 900 * MS, 910 * MS, FIGURES_COMPUTE);
    figures_device_tick(&device, &waits);
    assert_int_equal(device.count, 1); /* the newest operation is not counted yet */
    add(0, 600 * MS, 610 * MS, FIGURES_COMPUTE);
    figures_device_tick(&device, &waits);
    figures_device_tick(&device, &waits); /* no operation has arrived since the last tick, so all are counted */
    assert_int_equal(device.busy_ns, 30 * MS);
    assert_int_equal(all_gaps(), 880 * MS);
    assert_int_equal(device.late, 0);
    add(0, 500 * MS, 920 * MS, FIGURES_MEMORY);
    figures_device_settle(&device, &waits);
    assert_int_equal(device.late, 1);
    /* only the part of the late operation that the sweep has not passed is added */
    assert_int_equal(device.busy_ns, 40 * MS);
    assert_int_equal(device.busy_ns + all_gaps(), 920 * MS);
}

static void a_full_buffer_is_swept(void **state)
{
    (void)state;
    for (int64_t i = 0; i < 10 * FIGURES_BUFFER_MAX; i++)
        add(i * 2, i * 2, i * 2 + 1, FIGURES_COMPUTE);
    assert_true(device.capacity <= FIGURES_BUFFER_MAX);
    assert_true(memory.used <= FIGURES_BUFFER_MAX * sizeof(struct figures_op));
    figures_device_settle(&device, &waits);
    assert_int_equal(device.busy_ns, 10 * FIGURES_BUFFER_MAX);
    assert_int_equal(device.late, 0);
}

static void without_memory_nothing_breaks(void **state)
{
    (void)state;
    memory.limit = 0;
    add(0, 0, MS, FIGURES_COMPUTE);
    figures_device_settle(&device, &waits);
    assert_int_equal(device.busy_ns, 0);
}

static void causes_of_gaps(void **state)
{
    (void)state;
    const struct figures_wait sync = { 100 * MS, 400 * MS, FIGURES_WAIT_SYNC };
    const struct figures_wait allocation = { 1000 * MS, 1300 * MS, FIGURES_WAIT_ALLOCATION };
    figures_waits_add(&waits, &memory, 1, FIGURES_WAIT_CALLS, &sync);
    figures_waits_add(&waits, &memory, 1, FIGURES_WAIT_CALLS, &allocation);
    add(0, 0, 100 * MS, FIGURES_COMPUTE);
    add(499 * MS + 990 * US, 500 * MS, 600 * MS, FIGURES_COMPUTE); /* gap of 400 ms: the host waited (sync) */
    add(500 * MS, 600 * MS + 3 * US, 700 * MS, FIGURES_COMPUTE);   /* gap of 3 us: dispatch */
    add(500 * MS, 705 * MS, 900 * MS, FIGURES_COMPUTE);            /* gap of 5 ms: the queued kernel waited */
    add(900 * MS + 40 * US, 900 * MS + 45 * US, 1000 * MS, FIGURES_COMPUTE); /* gap of 45 us: late launch */
    add(1399 * MS + 999 * US, 1400 * MS, 1500 * MS, FIGURES_COMPUTE);        /* gap of 400 ms: the host allocated */
    add(1700 * MS - US, 1700 * MS, 1800 * MS, FIGURES_COMPUTE);              /* gap of 200 ms: cause unknown */
    /* gap of 100 ms: launch not known */
    const struct figures_op lost = { 1900 * MS, 2000 * MS, 0, 0, 0, FIGURES_COMPUTE };
    figures_device_add(&device, &memory, &waits, &lost);
    figures_device_settle(&device, &waits);
    assert_int_equal(device.gap_ns[FIGURES_CAUSE_SYNC], 400 * MS);
    assert_int_equal(device.gap_ns[FIGURES_CAUSE_ALLOCATION], 400 * MS);
    assert_int_equal(device.gap_ns[FIGURES_CAUSE_DISPATCH], 3 * US);
    assert_int_equal(device.gap_ns[FIGURES_CAUSE_WAIT], 5 * MS);
    assert_int_equal(device.gap_ns[FIGURES_CAUSE_LAUNCH], 45 * US);
    assert_int_equal(device.gap_ns[FIGURES_CAUSE_UNKNOWN], 300 * MS);
}

/* A launch call lasts 11 ms and covers the gap of 10 ms. The gap's cause is "launch", as in the report of a trace. */
static void a_long_launch_call_is_the_cause(void **state)
{
    (void)state;
    const struct figures_op op = { 20 * MS, 21 * MS, 9 * MS, 20 * MS - US, 1, FIGURES_COMPUTE };
    add(0, 0, 10 * MS, FIGURES_COMPUTE);
    figures_device_add(&device, &memory, &waits, &op);
    figures_device_settle(&device, &waits);
    assert_int_equal(device.gap_ns[FIGURES_CAUSE_LAUNCH], 10 * MS);
}

/* Adds kernels of this length for 0.4 s. Each begins `apart` ns after the one before, and was launched `queue` ns
 * before it begins. */
static void run_evenly(int64_t length, int64_t apart, int64_t queue)
{
    for (int64_t at = 0; at < 400 * MS; at += apart)
        add(at - queue, at, at + length, FIGURES_COMPUTE);
    figures_device_tick(&device, &waits);
    device.changed = true;
    device.newest += FIGURES_SETTLE_NS;
    figures_device_tick(&device, &waits);
}

static void short_kernels_that_are_waited_for_are_a_storm(void **state)
{
    (void)state;
    run_evenly(3 * US, 30 * US, 2 * US);
    assert_true(device.storm);
    figures_device_settle(&device, &waits);
    assert_false(device.storm); /* no kernel runs any more */
}

static void queued_kernels_are_no_storm(void **state)
{
    (void)state;
    run_evenly(3 * US, 30 * US, 100 * US);
    assert_false(device.storm);
}

static void long_kernels_are_no_storm(void **state)
{
    (void)state;
    run_evenly(20 * US, 50 * US, 2 * US);
    assert_false(device.storm);
}

/* Times at the limits of figures_clock_limit must not overflow. */
static void any_times_are_safe(void **state)
{
    (void)state;
    const int64_t most = (int64_t)1 << 60;
    const struct figures_op ops[] = { { -most, most, most, -most, 1, FIGURES_COMPUTE },
                                      { most, most, -most, most, 1, FIGURES_COMMUNICATION },
                                      { -most, -most + 1, 0, 0, 2, FIGURES_MEMORY } };
    for (size_t i = 0; i < 3; i++)
        figures_device_add(&device, &memory, &waits, &ops[i]);
    figures_device_tick(&device, &waits);
    figures_device_tick(&device, &waits);
    assert_true(device.busy_ns >= 0);
}

static void waits_are_bounded_and_say_what_they_forgot(void **state)
{
    (void)state;
    int64_t sums[FIGURES_WAIT_COUNT];
    for (int64_t i = 0; i < 100000; i++) {
        const struct figures_wait wait = { i * 10, i * 10 + 5, FIGURES_WAIT_SYNC };
        figures_waits_add(&waits, &memory, 1, FIGURES_WAIT_CALLS, &wait);
    }
    assert_true(memory.used <= 4096 * sizeof(struct figures_wait));
    assert_true(figures_waits_within(&waits, 1, 999000, 999100, sums));
    assert_int_equal(sums[FIGURES_WAIT_SYNC], 50);
    assert_false(figures_waits_within(&waits, 1, 100, 200, sums));
    for (uint32_t thread = 2; thread < 200; thread++) {
        const struct figures_wait wait = { 0, 5, FIGURES_WAIT_SYNC };
        figures_waits_add(&waits, &memory, thread, FIGURES_WAIT_CALLS, &wait);
    }
    assert_false(figures_waits_within(&waits, 199, 0, 5, sums)); /* the table had no entry left for thread 199 */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(times_are_unions),
        TEST(late_operations_count_from_the_sweep_on),
        TEST(a_full_buffer_is_swept),
        TEST(without_memory_nothing_breaks),
        TEST(causes_of_gaps),
        TEST(a_long_launch_call_is_the_cause),
        TEST(short_kernels_that_are_waited_for_are_a_storm),
        TEST(queued_kernels_are_no_storm),
        TEST(long_kernels_are_no_storm),
        TEST(any_times_are_safe),
        TEST(waits_are_bounded_and_say_what_they_forgot),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
