/* Tests of the replay, which computes how long a recorded program would have taken without some activities of the
 * host, such as its waits. */
#include "check.h"

#include "analysis/gaps/gaps.h"
#include "analysis/gaps/replay.h"
#include "analysis/gaps/savings.h"
#include "analysis/verdict/wall.h"
#include "built.h"

static const int64_t us = 1000, ms = 1000000;
enum { COMPUTE = 1, STEPS = 20 };

/* A model of a host that launches into one stream and of a device that runs the work. The model writes the trace that
 * a recording of such a program would contain. */
struct machine {
    struct builder *trace;
    int64_t host, device; /* `host`: the host's current time; `device`: when the device will be free */
};

/* In ns. CALL: a launch call. REACH: from the launch until it reaches the device. DISPATCH: between two kernels. */
enum { CALL = 4000, REACH = 6000, DISPATCH = 1000 };

static struct machine begin(struct built *built)
{
    struct builder *trace = built_begin(built);
    build_device(trace, 1, "Test GPU", 0, 100);
    build_stream(trace, COMPUTE, 1);
    build_thread(trace, 1, 100, "main");
    return (struct machine){ trace, ms, 0 };
}

static void launch(struct machine *machine, bool copy, int64_t length)
{
    int64_t reached = machine->host + REACH, free = machine->device + DISPATCH,
            from = reached > free ? reached : free;
    build_launch(machine->trace, &(struct launch){ .kernel = copy ? NULL : "ampere_sgemm_128x64_nn",
                                                   .call = copy ? "cuMemcpyHtoDAsync" : NULL,
                                                   .begin = from,
                                                   .end = from + length,
                                                   .host_begin = machine->host,
                                                   .host_end = machine->host + CALL });
    machine->host += CALL;
    machine->device = from + length;
}

static void wait(struct machine *machine)
{
    int64_t until = machine->device + 5 * us;
    until = until > machine->host + us ? until : machine->host + us;
    build_call(machine->trace, "cuStreamSynchronize", WS_CALL_SYNC, machine->host, until);
    machine->host = until;
}

static void allocate(struct machine *machine, int64_t length)
{
    build_call(machine->trace, "cuMemAlloc_v2", WS_CALL_MEMORY, machine->host, machine->host + length);
    machine->host += length;
}

static struct ws_replay_times replay(struct built *built, unsigned without)
{
    struct ws_replay_times times;
    assert_int_equal(ws_replay(built->report, 0, without, &times), 0);
    return times;
}

/* A step of the program's loop: whether it contains a copy and a wait, and how long its parts take, in ns. */
struct loop {
    bool copy, wait;
    /* load: host time before the copy; work: host time after the wait; allocate: time of an allocation */
    int64_t load, work, allocate;
    int64_t more_load; /* further host time before the copy, in one step of four */
    int kernels;
    int64_t kernel; /* duration of each kernel */
};

static int64_t run(struct machine *machine, const struct loop *loop)
{
    int64_t from = 0;
    for (int i = 0; i < STEPS; i++) {
        machine->host += loop->load + (i % 4 == 2 ? loop->more_load : 0);
        if (loop->copy)
            launch(machine, true, 20 * us);
        if (!from)
            from = machine->device;
        if (loop->allocate)
            allocate(machine, loop->allocate);
        for (int kernel = 0; kernel < loop->kernels; kernel++)
            launch(machine, false, loop->kernel);
        if (loop->wait)
            wait(machine);
        machine->host += loop->work;
    }
    return machine->device - from;
}

static int64_t length_of(const struct loop *loop)
{
    struct built built;
    struct machine machine = begin(&built);
    int64_t length = run(&machine, loop);
    built_report(&built);
    built_finish(&built);
    return length;
}

/* Replays a recording of the loop `with` without the idle time of the causes `what`: once per step, and once for the
 * whole recording. The saving that the replay gives must be about the difference between the lengths of the loops
 * `with` and `without`. */
static void expect(const struct loop *with, const struct loop *without, unsigned what)
{
    int64_t recorded = length_of(with), truth = recorded - length_of(without);
    assert_true(truth > recorded / 20);
    for (int whole = 0; whole < 2; whole++) {
        struct built built;
        struct machine machine = begin(&built);
        built.steps = whole ? WS_STEPS_NOT_ASKED : WS_STEPS_AUTO;
        run(&machine, with);
        built_report(&built);
        struct ws_replay_times times = replay(&built, what);
        assert_int_equal(times.steps > 0, !whole);
        int64_t said = (times.recorded - times.replayed) * (whole ? 1 : STEPS);
        assert_true(llabs(said - truth) < recorded / 20);
        times = replay(&built, 0);
        assert_int_equal(times.replayed, times.recorded);
        built_finish(&built);
    }
}

/* If the host did not wait, the device would be busy all the time. */
static void a_wait_with_much_to_do(void **state)
{
    struct loop with = { .copy = true, .wait = true, .work = 300 * us, .kernels = 10, .kernel = 100 * us },
                without = with;
    (void)state;
    without.wait = false;
    expect(&with, &without, WS_WITHOUT_SYNC);
}

/* If the host did not wait, its own work would still limit the loop. */
static void a_wait_with_much_work_of_the_host(void **state)
{
    struct loop with = { .copy = true, .wait = true, .work = 900 * us, .kernels = 5, .kernel = 100 * us },
                without = with;
    (void)state;
    without.wait = false;
    expect(&with, &without, WS_WITHOUT_SYNC);
}

static void a_slow_loader(void **state)
{
    struct loop with = { .copy = true, .load = 3 * ms, .kernels = 10, .kernel = 100 * us }, without = with;
    (void)state;
    without.load = 0;
    expect(&with, &without, WS_WITHOUT_INPUT);
    with.wait = without.wait = true; /* only the loading is removed; both loops wait in each step */
    expect(&with, &without, WS_WITHOUT_INPUT);
}

/* Four steps, the last of which is cut off by the end of the recording. The other three end with the wait for the
 * next batch. */
static void few_steps_of_a_slow_loader(void **state)
{
    struct built built;
    struct machine machine = begin(&built);
    (void)state;
    for (int i = 0; i < 4; i++) {
        machine.host += machine.host < machine.device ? machine.device - machine.host : 0;
        machine.host += 3 * ms;
        launch(&machine, true, 20 * us);
        for (int kernel = 0; kernel < 10; kernel++)
            launch(&machine, false, 100 * us);
    }
    built_report(&built);
    struct ws_replay_times times = replay(&built, WS_WITHOUT_INPUT);
    assert_int_equal(times.steps, 3);
    assert_true(llabs(times.recorded - times.replayed - 3 * ms) < ms / 10);
    built_finish(&built);
}

/* One step in four loads for longer. So the average saving differs from the saving in most steps. */
static void a_loader_that_is_slow_now_and_then(void **state)
{
    struct loop with = { .copy = true, .load = ms, .more_load = 3 * ms, .kernels = 10, .kernel = 100 * us },
                without = with;
    (void)state;
    without.load = without.more_load = 0;
    expect(&with, &without, WS_WITHOUT_INPUT);
}

static void an_allocation_in_the_loop(void **state)
{
    struct loop with = { .copy = true, .allocate = 700 * us, .kernels = 5, .kernel = 100 * us, .work = 20 * us },
                without = with;
    (void)state;
    without.allocate = 0;
    expect(&with, &without, WS_WITHOUT_ALLOCATION);
}

/* Kernels of 3 µs, launched every 12 µs. Without gaps, as in a graph, they would take a third of the time. */
static void short_kernels(void **state)
{
    struct built built;
    struct machine machine = begin(&built);
    (void)state;
    for (int i = 0; i < 1000; i++) {
        launch(&machine, false, 3 * us);
        machine.host += 8 * us;
    }
    built_report(&built);
    struct ws_replay_times times = replay(&built, WS_WITHOUT_LAUNCHES);
    assert_true(times.recorded > 11900 * us && times.recorded < 12100 * us);
    assert_true(times.replayed > 3900 * us && times.replayed < 4200 * us);
    built_finish(&built);
}

/* The device never waits for the host. So nothing is saved if the host's waits are removed. */
static void nothing_to_win(void **state)
{
    struct built built;
    struct machine machine = begin(&built);
    struct loop loop = { .copy = true, .load = 200 * us, .allocate = 100 * us, .kernels = 10, .kernel = 100 * us };
    (void)state;
    run(&machine, &loop);
    built_report(&built);
    struct ws_replay_times times = replay(&built, WS_WITHOUT_SYNC | WS_WITHOUT_INPUT | WS_WITHOUT_ALLOCATION);
    assert_true(times.recorded - times.replayed < times.recorded / 50);
    const struct ws_track_savings *savings = ws_report_result(built.report, &ws_analysis_savings, 0);
    for (int cause = 0; cause < WS_CAUSE_COUNT; cause++)
        assert_true(savings->saving[cause] <= savings->idle[cause]);
    built_finish(&built);
}

static const char *evidence_against(const struct built *built, const char *cause)
{
    const struct ws_track_wall *wall = ws_report_result(built->report, &ws_analysis_wall, 0);
    const struct ws_advice *advice = wall->advice.items.data;
    for (size_t i = 0; i < wall->advice.items.count; i++)
        if (!strcmp(advice[i].name, cause))
            return advice[i].evidence;
    fail_msg("nothing is advised against %s", cause);
    return "";
}

/* If a saving is given per step, its evidence has figures per step. If a saving is given for the whole recording, the
 * figures of its evidence are for the whole recording, too. */
static void evidence_is_of_what_the_saving_is_of(void **state)
{
    struct loop loop = { .copy = true, .wait = true, .work = 150 * us, .kernels = 10, .kernel = 100 * us };
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        struct built built;
        struct machine machine = begin(&built);
        built.steps = whole ? WS_STEPS_NOT_ASKED : WS_STEPS_AUTO;
        run(&machine, &loop);
        built_report(&built);
        const struct ws_track_causes *causes = ws_report_result(built.report, &ws_analysis_causes, 0);
        const struct ws_track_steps *steps = ws_report_result(built.report, &ws_analysis_steps, 0);
        const struct ws_gap_total *sync = &causes->totals[WS_PART_SYNC];
        char expected[200], time[WS_FORMAT_SIZE];
        assert_int_equal(causes->per_step, !whole);
        assert_true(whole || sync->steady_count < sync->count);
        snprintf(expected, sizeof(expected),
                 "%s after the host had waited, %s of idle time, mostly in cuStreamSynchronize; estimated by "
                 "replaying the %s without these waits",
                 whole ? "38 gaps" : "1.9 gaps a step",
                 ws_format_time(time, whole ? sync->total : ws_steps_share(steps, sync->steady)),
                 whole ? "recording" : "recorded steps");
        assert_string_equal(evidence_against(&built, "sync"), expected);
        built_finish(&built);
    }
}

/* The host waits in copies that block. The advice is about the copies; it does not say to read results less often. */
static void copies_that_block(void **state)
{
    struct built built;
    struct machine machine = begin(&built);
    (void)state;
    for (int i = 0; i < STEPS; i++) {
        int64_t from = machine.device > machine.host ? machine.device + DISPATCH : machine.host + REACH;
        machine.device = from + 200 * us;
        build_launch(machine.trace, &(struct launch){ .from = WS_SPACE_PAGEABLE,
                                                      .to = WS_SPACE_DEVICE,
                                                      .call = "cuMemcpyHtoDAsync",
                                                      .begin = from,
                                                      .end = machine.device,
                                                      .host_begin = machine.host,
                                                      .host_end = machine.device + 5 * us });
        machine.host = machine.device + 5 * us;
        machine.host += 60 * us;
        for (int kernel = 0; kernel < 5; kernel++)
            launch(&machine, false, 100 * us);
    }
    built_report(&built);
    const struct ws_track_wall *wall = ws_report_result(built.report, &ws_analysis_wall, 0);
    const struct ws_advice *advice = wall->advice.items.data;
    bool advised = false;
    for (size_t i = 0; i < wall->advice.items.count; i++) {
        advised |= strstr(advice[i].what, "do not wait for copies") && advice[i].part == WS_PART_SYNC;
        assert_null(strstr(advice[i].what, "wait for the GPU less often"));
    }
    assert_true(advised);
    built_finish(&built);
}

static void counts_of_a_step(void **state)
{
    static const struct {
        uint64_t count;
        size_t steps;
        const char *text;
    } cases[] = { { 1500, 0, "1,500" }, { 12, 6, "2" },        { 13, 6, "2.2" },         { 1500, 7, "214" },
                  { 1, 100, "0.01" },   { 1, 9000, "0.0001" }, { 1, 200000, "< 0.0001" } };
    char text[WS_FORMAT_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(ws_format_each(text, cases[i].count, cases[i].steps), cases[i].text);
}

static void times_as_text(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = { { 0, "0 ns" },         { 999, "999 ns" },
                  { 1234, "1.23 µs" },   { -4912, "−4.91 µs" },
                  { 999600, "1.00 ms" }, { -123400000, "−123 ms" },
                  { -7, "−7 ns" },       { INT64_MIN, "−9223372037 s" } };
    char text[WS_FORMAT_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(ws_format_time(text, cases[i].ns), cases[i].text);
}

/* Runs a loop with a loader before each step and, if `waits`, a wait in the middle of the step. */
static int64_t run_both(struct machine *machine, int64_t load, bool waits)
{
    for (int i = 0; i < 2 * STEPS; i++) {
        machine->host += i % 2 ? 0 : load;
        launch(machine, i % 2 == 0, 20 * us);
        for (int kernel = 0; kernel < 5; kernel++)
            launch(machine, false, 100 * us);
        if (waits && i % 2 == 0)
            wait(machine);
        machine->host += 300 * us;
    }
    return machine->device;
}

/* A recording has both a slow loader and a wait. One replay removes both. The savings that are promised for each
 * alone must add up to no more than the saving of that replay. */
static void two_walls_are_taken_away_together(void **state)
{
    int64_t lengths[2];
    struct built built;
    char text[WS_TOGETHER_TEXT];
    (void)state;
    for (int with = 0; with < 2; with++) {
        struct machine machine = begin(&built);
        lengths[with] = run_both(&machine, with ? 900 * us : 0, with);
        built_report(&built);
        if (!with)
            built_finish(&built);
    }
    int64_t truth = (lengths[1] - lengths[0]) / STEPS;
    const struct ws_track_savings *savings = ws_report_result(built.report, &ws_analysis_savings, 0);
    int64_t alone = ws_savings_together(savings, text);
    assert_string_equal(text, "input and sync");
    assert_int_equal(alone, savings->saving[WS_PART_INPUT] + savings->saving[WS_PART_SYNC]);
    assert_true(llabs(savings->together - truth) < truth / 20);
    assert_true(alone <= savings->together + truth / 100);
    built_finish(&built);
}

/* With a single cause of idle time, no saving is given for several causes together. */
static void one_wall_is_no_two(void **state)
{
    struct loop loop = { .copy = true, .load = 3 * ms, .kernels = 10, .kernel = 100 * us };
    struct built built;
    struct machine machine = begin(&built);
    char text[WS_TOGETHER_TEXT];
    (void)state;
    run(&machine, &loop);
    built_report(&built);
    const struct ws_track_savings *savings = ws_report_result(built.report, &ws_analysis_savings, 0);
    assert_true(savings->saving[WS_PART_INPUT] > 0);
    assert_int_equal(savings->together, 0);
    assert_int_equal(ws_savings_together(savings, text), 0);
    assert_string_equal(text, "");
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_with_much_to_do),
        cmocka_unit_test(a_wait_with_much_work_of_the_host),
        cmocka_unit_test(a_slow_loader),
        cmocka_unit_test(few_steps_of_a_slow_loader),
        cmocka_unit_test(a_loader_that_is_slow_now_and_then),
        cmocka_unit_test(an_allocation_in_the_loop),
        cmocka_unit_test(short_kernels),
        cmocka_unit_test(nothing_to_win),
        cmocka_unit_test(evidence_is_of_what_the_saving_is_of),
        cmocka_unit_test(copies_that_block),
        cmocka_unit_test(counts_of_a_step),
        cmocka_unit_test(times_as_text),
        cmocka_unit_test(two_walls_are_taken_away_together),
        cmocka_unit_test(one_wall_is_no_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
