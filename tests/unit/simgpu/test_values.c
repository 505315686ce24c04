/* Tests of streams that wait for a value in memory: the times of events queued behind the wait, and how soon the
 * device sees the value. */
#include <time.h>
#include <unistd.h>

#include "simgpu.h"

/* In ns. By default, an operation directly behind an event begins EVENT_DISPATCH + AFTER_EVENT after the event. */
enum { EVENT_DISPATCH = 1260, AFTER_EVENT = 900, KERNEL = 7000, MOST_HOLDS = 1024 };

static char path[] = "/tmp/simgpu-values-XXXXXX";

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void let_pass(int64_t ns)
{
    int64_t until = now_ns() + ns;
    while (now_ns() < until)
        ;
}

/* The begin and end of a wait for a value, in host time. */
struct hold {
    int64_t start, end;
};

/* Reads from the truth file all waits for values that are in it so far. */
static size_t read_holds(struct hold *holds)
{
    char line[512], kind[16];
    int64_t origin = 0, offset = 0;
    size_t count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) && count < MOST_HOLDS) {
        long long first, second;
        if (sscanf(line, "#clock device=0 origin_host_ns=%lld offset_ns=%lld", &first, &second) == 2) {
            origin = first;
            offset = second;
        } else if (sscanf(line, "%*d\t%*d\t%*s\t%*u\t%15s\t%*s\t%*u\t%*d\t%lld\t%lld", kind, &first, &second) == 3 &&
                   strcmp(kind, "wait_value") == 0) {
            holds[count++] = (struct hold){ first - offset + origin, second - offset + origin };
        }
    }
    fclose(file);
    return count;
}

static struct hold last_hold(void)
{
    static struct hold holds[MOST_HOLDS];
    size_t count = read_holds(holds);
    assert_true(count > 0 && count < MOST_HOLDS);
    return holds[count - 1];
}

static void events_in_a_row_stand_apart(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    const char *set = getenv("SIMGPU_EVENT_DISPATCH_NS");
    const int64_t apart = set ? atoll(set) : EVENT_DISPATCH;
    ws_CUevent events[5];
    int64_t ns[4];
    simgpu_hold(fixture, fixture->stream);
    for (int i = 0; i < 5; i++)
        succeeds(cuEventCreate(&events[i], 0));
    for (int i = 0; i < 4; i++) {
        succeeds(cuEventRecord(events[i], fixture->stream));
        if (i == 1)
            simgpu_spin(fixture, fixture->stream, KERNEL);
    }
    simgpu_release(fixture);
    succeeds(cuStreamSynchronize(fixture->stream));
    let_pass(100000);
    succeeds(cuEventRecord(events[4], fixture->stream));
    succeeds(cuStreamSynchronize(fixture->stream));
    for (int i = 0; i < 4; i++) {
        float milliseconds;
        succeeds(cuEventElapsedTime(&milliseconds, events[i], events[i + 1]));
        ns[i] = (int64_t)((double)milliseconds * 1e6 + 0.5);
    }
    assert_int_equal(ns[0], apart);
    /* an event behind a kernel has the time of the kernel's end */
    assert_int_equal(ns[1], apart + AFTER_EVENT + KERNEL);
    assert_int_equal(ns[2], apart);
    assert_true(ns[3] >= 100000); /* an event in an idle stream has the time of its arrival */
}

/* The truth file states when the wait ended: no later than the first driver call after the value was stored. */
static void calls_see_a_value_at_once(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUevent event;
    succeeds(cuEventCreate(&event, 0));
    for (int which = 0; which < 4; which++) {
        simgpu_hold(fixture, fixture->stream);
        simgpu_spin(fixture, fixture->stream, KERNEL);
        succeeds(cuEventRecord(event, fixture->stream));
        let_pass(50000);
        int64_t before = now_ns();
        simgpu_release(fixture);
        if (which == 0)
            succeeds(cuEventRecord(event, fixture->other));
        else if (which == 1)
            cuEventQuery(event);
        else if (which == 2)
            cuStreamQuery(fixture->stream);
        else
            simgpu_spin(fixture, fixture->stream, KERNEL);
        int64_t after = now_ns();
        succeeds(cuStreamSynchronize(fixture->stream));
        struct hold hold = last_hold();
        assert_true(hold.start < before - 40000);
        assert_true(hold.end >= before && hold.end <= after);
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Without a call, the driver's thread sees the value as soon as that thread runs. On a busy machine the thread often
 * runs too late, so only tries in which it ran in time count. */
static void a_young_wait_sees_its_value_at_once(void **state)
{
#if defined(__SANITIZE_THREAD__) /* the driver's thread is slow: ThreadSanitizer checks each of its loads */
    enum { TRIES = 500, ENOUGH = 40, LEAST = 10, DID_NOT_RUN = 2000000, AT_ONCE = 1000000 };
#else
    enum { TRIES = 500, ENOUGH = 40, LEAST = 10, DID_NOT_RUN = 20000, AT_ONCE = 5000 };
#endif
    const struct simgpu_fixture *fixture = *state;
    int64_t late[ENOUGH];
    size_t count = 0;
    for (int i = 0; i < TRIES && count < ENOUGH; i++) {
        simgpu_hold(fixture, fixture->stream);
        let_pass(60000 + i % 100 * 1000);
        int64_t stored = now_ns();
        simgpu_release(fixture);
        let_pass(200000);
        succeeds(cuStreamSynchronize(fixture->stream));
        late[count] = last_hold().end - stored;
        assert_true(late[count] >= 0);
        count += late[count] < DID_NOT_RUN;
    }
    if (count < LEAST)
        skip();
    qsort(late, count, sizeof(*late), by_value);
    print_message("seen %lld ns after it was stored\n", (long long)late[count / 2]);
    assert_true(late[count / 2] <= AT_ONCE);
}

static void a_value_that_was_there_holds_nothing(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    ws_CUevent event;
    succeeds(cuEventCreate(&event, 0));
    simgpu_spin(fixture, fixture->stream, 30000000);
    succeeds(cuEventRecord(event, fixture->stream));
    simgpu_hold(fixture, fixture->stream);
    simgpu_release(fixture);
    fails(cuEventQuery(event), NOT_READY);
    succeeds(cuStreamSynchronize(fixture->stream));
    struct hold hold = last_hold();
    assert_int_equal(hold.start, hold.end);
}

static void expect_attribute(int attribute, int expected)
{
    int value = -1;
    succeeds(cuDeviceGetAttribute(&value, attribute, 0));
    assert_int_equal(value, expected);
}

static void attributes_say_what_there_is(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    bool there = !getenv("SIMGPU_STREAM_VALUES");
    expect_attribute(WS_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, there);
    expect_attribute(WS_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, there);
    expect_attribute(WS_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 0);
    fails(cuStreamWaitValue32(fixture->stream, (ws_CUdeviceptr)fixture->gate, 0, 0), NOT_SUPPORTED);
    ws_CUresult answer = there ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_NOT_SUPPORTED;
    assert_int_equal(cuStreamWaitValue32_v2(fixture->stream, (ws_CUdeviceptr)fixture->gate, 0, 0), answer);
    assert_int_equal(cuStreamWriteValue32_v2(fixture->stream, (ws_CUdeviceptr)fixture->gate, 0, 0), answer);
    succeeds(cuStreamSynchronize(fixture->stream));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, simgpu_setup, simgpu_teardown)

int main(void)
{
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    close(file);
    setenv("SIMGPU_TRUTH", path, 1);
    setenv("SIMGPU_TRUTH_SYNC", "1", 1);
    setenv("SIMGPU_EVENT_RESOLUTION_NS", "1", 1);
    setenv("SIMGPU_CLOCK_DRIFT_PPM", "0", 1);
    const struct CMUnitTest always[] = { TEST(attributes_say_what_there_is) };
    const struct CMUnitTest with_values[] = {
        TEST(events_in_a_row_stand_apart),
        TEST(calls_see_a_value_at_once),
        TEST(a_young_wait_sees_its_value_at_once),
        TEST(a_value_that_was_there_holds_nothing),
    };
    int failed = cmocka_run_group_tests(always, NULL, NULL);
    if (!getenv("SIMGPU_STREAM_VALUES"))
        failed += cmocka_run_group_tests(with_values, NULL, NULL);
    unlink(path);
    return failed;
}
