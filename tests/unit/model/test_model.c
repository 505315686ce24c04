#include "check.h"

#include "rows.h"
#include "built.h"

static const char *const kernel = "ampere_sgemm_128x64_nn";

static uint32_t kernel_shape(struct builder *trace, uint32_t stream)
{
    struct ws_shape shape = { .kind = WS_OP_KERNEL, .stream = stream, .function = build_function(trace, kernel) };
    return build_shape(trace, &shape);
}

static void times_of_each_context_come_to_the_hosts_clock(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_device(trace, 1, "First", 1000000, 50);
    build_device(trace, 2, "Second", -7000, 60);
    build_stream(trace, 1, 1);
    build_stream(trace, 2, 2);
    build_kernel(trace, 1, kernel, 500, 900);
    build_kernel(trace, 2, kernel, 10000, 10100);
    built_report(&built);
    assert_int_equal(built.model->tracks.count, 2);
    assert_int_equal(built_activity(&built, 0)->begin, 1000500);
    assert_int_equal(built_activity(&built, 0)->busy, 400);
    assert_int_equal(built_activity(&built, 1)->begin, 3000);
    assert_int_equal(ws_model_track(built.model, 0)->clock_error, 50);
    assert_int_equal(ws_model_track(built.model, 1)->device, 2);
    assert_string_equal(ws_track_device(built.model, ws_model_track(built.model, 1))->name.data, "Second");
    built_finish(&built);
}

/* The device's clock is known to ±500 ns and each begin to ±100 ns. So a begin up to 600 ns before its launch is
 * moved to the launch. */
static void nothing_begins_before_its_launch(void **state)
{
    static const int64_t early[] = { -1, 0, 1, 600, 601 }, expected[] = { 0, 0, 1, 600, 0 };
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_device(trace, 1, "GPU", 1000000, 500);
    build_stream(trace, 1, 1);
    for (int64_t i = 0; i < 5; i++)
        build_launch(trace, &(struct launch){ .kernel = kernel,
                                              .begin = 10000 * (i + 1),
                                              .end = 10000 * (i + 1) + 400,
                                              .host_begin = 1010000 + 10000 * i + early[i],
                                              .host_end = 1012000 + 10000 * i,
                                              .error = 100 });
    built_report(&built);
    const struct ws_ops *ops = &ws_model_process(built.model, 0)->ops;
    for (size_t i = 0; i < 5; i++) {
        int64_t begin = 1010000 + 10000 * (int64_t)i + expected[i];
        assert_int_equal(ws_op_begin(ops, i), begin);
        assert_int_equal(ws_op_end(ops, i), expected[i] > 400 ? begin : 1010400 + 10000 * (int64_t)i);
    }
    built_finish(&built);
}

static void a_device_is_used_where_it_has_a_context(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    struct ws_device unused = { .id = 1, .name = { "Unused", 6 } };
    build_row(trace, WS_FAMILY_device, &unused);
    build_device(trace, 2, "Used", 0, 0);
    built_report(&built);
    const struct ws_process *process = ws_model_process(built.model, 0);
    assert_int_equal(process->devices.rows.count, 2);
    assert_false(ws_process_uses_device(built.model, process, 1));
    assert_true(ws_process_uses_device(built.model, process, 2));
    built_finish(&built);
}

static void what_has_no_interval_is_counted(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_device(trace, 1, "Test GPU", 0, 0);
    build_stream(trace, 1, 1);
    uint32_t shape = kernel_shape(trace, 1);
    struct ws_op plain = build_op_of(trace, shape, 1000, 2000), op = plain;
    build_row(trace, WS_FAMILY_op, &plain);
    op.flags = 0; /* without times */
    build_row(trace, WS_FAMILY_op, &op);
    op.flags = WS_TIME_NONE | WS_TIME_MEASURED << 2; /* the operation has an end but no begin */
    build_row(trace, WS_FAMILY_op, &op);
    op = plain;
    op.flags |= WS_OP_CAPTURED;
    build_row(trace, WS_FAMILY_op, &op);
    op = plain;
    op.result = 700;
    build_row(trace, WS_FAMILY_op, &op);
    op = plain;
    op.end = op.begin - 1;
    build_row(trace, WS_FAMILY_op, &op);
    struct ws_shape host = { .kind = WS_OP_HOST_FUNCTION, .stream = 1 };
    op = build_op_of(trace, build_shape(trace, &host), 5000, 9000);
    build_row(trace, WS_FAMILY_op, &op);
    built_report(&built);
    const struct ws_track *track = ws_model_track(built.model, 0);
    assert_int_equal(track->count, 1);
    assert_int_equal(track->untimed, 2);
    assert_int_equal(track->captured, 1);
    assert_int_equal(track->failed, 1);
    assert_int_equal(track->backwards, 1);
    assert_int_equal(track->passive, 1);
    assert_int_equal(built_activity(&built, 0)->busy, 1000);
    built_finish(&built);
}

static void lost_descriptions_get_names_that_say_so(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_device(trace, 1, "Test GPU", 0, 0);
    build_stream(trace, 1, 1);
    struct ws_shape nameless = { .kind = WS_OP_KERNEL, .stream = 1, .function = 17 };
    struct ws_op op = build_op_of(trace, build_shape(trace, &nameless), 1000, 1500);
    build_row(trace, WS_FAMILY_op, &op);
    op = build_op_of(trace, 4000000000, 2000, 2200); /* an unknown shape */
    build_row(trace, WS_FAMILY_op, &op);
    built_report(&built);
    assert_int_equal(built.model->tracks.count, 1);
    assert_non_null(built_kernel(&built, 0, "kernel #17 (name lost)"));
    assert_non_null(built_kernel(&built, 0, "operation #4000000000 (description lost)"));
    assert_int_equal(built_activity(&built, 0)->busy, 700);
    built_finish(&built);
}

static void what_belongs_to_no_device_has_a_track_of_its_own(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_device(trace, 1, "First", 0, 0);
    build_device(trace, 2, "Second", 0, 0);
    struct ws_op op = build_op_of(trace, kernel_shape(trace, 99), 1000, 1500); /* an unknown stream */
    build_row(trace, WS_FAMILY_op, &op);
    built_report(&built);
    assert_int_equal(built.model->tracks.count, 3);
    assert_int_equal(ws_model_track(built.model, 0)->device, 0);
    assert_int_equal(ws_model_track(built.model, 0)->count, 1);
    assert_false(ws_model_track(built.model, 0)->aligned);
    built_finish(&built);
}

static void same_name_from_two_modules_is_one_row(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_device(trace, 1, "Test GPU", 0, 0);
    build_stream(trace, 1, 1);
    struct ws_function twin = { .id = 50, .handle = 50, .name = { kernel, (uint32_t)strlen(kernel) } };
    build_row(trace, WS_FAMILY_function, &twin);
    struct ws_shape shape = { .kind = WS_OP_KERNEL, .stream = 1, .function = 50 };
    build_kernel(trace, 1, kernel, 0, 10);
    struct ws_op op = build_op_of(trace, build_shape(trace, &shape), 20, 25);
    build_row(trace, WS_FAMILY_op, &op);
    built_report(&built);
    assert_int_equal(built_kernel(&built, 0, kernel)->count, 2);
    assert_int_equal(built_kernel(&built, 0, kernel)->total, 15);
    built_finish(&built);
}

static int64_t order_sum(const struct built *built)
{
    const struct ws_track *track = ws_model_track(built->model, 0);
    const struct ws_ops *ops = &ws_model_process(built->model, 0)->ops;
    int64_t last = INT64_MIN, sum = 0;
    for (size_t i = 0; i < track->count; i++) {
        assert_true(ws_op_begin(ops, track->order[i]) >= last);
        last = ws_op_begin(ops, track->order[i]);
        sum += track->order[i];
    }
    return sum;
}

static void rows_in_any_order_come_into_order(void **state)
{
    enum { OPS = 20000 };
    struct built built;
    struct builder *trace = built_begin(&built);
    uint64_t random = 2;
    (void)state;
    build_device(trace, 1, "Test GPU", 0, 0);
    build_stream(trace, 1, 1);
    uint32_t shape = kernel_shape(trace, 1);
    for (int i = 0; i < OPS; i++) {
        int64_t begin = (int64_t)(next_random(&random) >> 24);
        struct ws_op op = build_op_of(trace, shape, begin, begin + 100);
        build_row(trace, WS_FAMILY_op, &op);
    }
    built_report(&built);
    assert_int_equal(ws_model_track(built.model, 0)->count, OPS);
    assert_int_equal(order_sum(&built), (int64_t)OPS * (OPS - 1) / 2);
    built_finish(&built);
}

/* Operations of several devices and streams are mixed in one file: each device gets all of its own operations, in
 * order. */
static void each_device_gets_its_own(void **state)
{
    enum { DEVICES = 3, STREAMS = 7, OPS = 5000 };
    struct built built;
    struct builder *trace = built_begin(&built);
    uint64_t random = 4;
    uint32_t shapes[STREAMS];
    size_t expected[DEVICES] = { 0 };
    (void)state;
    for (uint32_t device = DEVICES; device > 0; device--)
        build_device(trace, device, "Test GPU", device * 1000000000, 0);
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        build_stream(trace, stream + 1, stream % DEVICES + 1);
        shapes[stream] = kernel_shape(trace, stream + 1);
    }
    for (int64_t i = 0; i < OPS; i++) {
        uint32_t stream = next_random(&random) % STREAMS;
        int64_t begin = i * 1000 + (int64_t)(next_random(&random) % 50000);
        struct ws_op op = build_op_of(trace, shapes[stream], begin, begin + 10);
        build_row(trace, WS_FAMILY_op, &op);
        expected[stream % DEVICES]++;
    }
    built_report(&built);
    assert_int_equal(built.model->tracks.count, DEVICES);
    const struct ws_process *process = ws_model_process(built.model, 0);
    for (size_t device = 0; device < DEVICES; device++) {
        const struct ws_track *track = ws_model_track(built.model, device);
        assert_int_equal(track->device, device + 1);
        assert_int_equal(track->count, expected[device]);
        for (size_t i = 0; i < track->count; i++) {
            uint32_t op = track->order[i];
            assert_int_equal(ws_process_shape(process, process->ops.shape[op])->track, device);
            if (i)
                assert_true(ws_op_begin(&process->ops, op) >= ws_op_begin(&process->ops, track->order[i - 1]));
        }
    }
    built_finish(&built);
}

/* There are enough operations for several threads to share the work. The devices' clocks are hours apart, and some
 * operations have no times. */
static void each_of_many_operations_gets_its_time(void **state)
{
    enum { DEVICES = 3, OPS = 600000 };
    const int64_t hour = 3600000000000;
    struct built built;
    struct builder *trace = built_begin(&built);
    size_t timed[DEVICES] = { 0 }, untimed[DEVICES] = { 0 };
    uint32_t shapes[DEVICES];
    (void)state;
    for (uint32_t device = 0; device < DEVICES; device++) {
        build_device(trace, device + 1, "Test GPU", (int64_t)device * hour, 0);
        build_stream(trace, device + 1, device + 1);
        shapes[device] = kernel_shape(trace, device + 1);
    }
    for (int64_t i = 0; i < OPS; i++) {
        uint32_t device = (uint32_t)(i / 3 % DEVICES);
        int64_t begin = i * 1000 - (int64_t)device * hour; /* on the device's clock */
        struct ws_op op = build_op_of(trace, shapes[device], begin, begin + 10 + i % 50 * (int64_t)(i < 100) * hour);
        op.host_begin = i * 1000 - 700;
        op.host_end = op.host_begin + 500;
        if (i % 7 == 0)
            op.begin = op.end = op.flags = 0;
        *(i % 7 ? &timed[device] : &untimed[device]) += 1;
        build_row(trace, WS_FAMILY_op, &op);
    }
    built_report(&built);
    const struct ws_ops *ops = &ws_model_process(built.model, 0)->ops;
    assert_int_equal(ops->count, OPS);
    for (int64_t i = 0; i < OPS; i++) {
        assert_int_equal(ws_op_is_timed(ops, (size_t)i), i % 7 != 0);
        assert_int_equal(ws_op_host_begin(ops, (size_t)i), i * 1000 - 700);
        if (i % 7 == 0)
            continue;
        assert_int_equal(ws_op_begin(ops, (size_t)i), i * 1000);
        assert_int_equal(ws_op_length(ops, (size_t)i), 10 + i % 50 * (int64_t)(i < 100) * hour);
    }
    for (uint32_t device = 0; device < DEVICES; device++) {
        const struct ws_track *track = ws_model_track(built.model, device);
        assert_int_equal(track->count, timed[device]);
        assert_int_equal(track->untimed, untimed[device]);
        for (size_t i = 1; i < track->count; i++)
            assert_true(ws_op_begin(ops, track->order[i]) > ws_op_begin(ops, track->order[i - 1]));
    }
    built_finish(&built);
}

/* Values that do not fit into 32 bits are kept exactly. */
static void long_times_and_odd_correlations_are_kept(void **state)
{
    const int64_t hour = 3600000000000;
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_device(trace, 1, "Test GPU", 0, 0);
    build_stream(trace, 1, 1);
    struct ws_op op = build_op_of(trace, kernel_shape(trace, 1), 1000, 1000 + hour);
    op.host_begin = 5;
    op.host_end = 5 + 2 * hour;
    op.correlation = 0xfedcba9876543210;
    op.bytes = 123456789012345;
    build_row(trace, WS_FAMILY_op, &op);
    build_kernel(trace, 1, kernel, 1000, 1001);
    built_report(&built);
    const struct ws_ops *ops = &ws_model_process(built.model, 0)->ops;
    assert_int_equal(ws_op_length(ops, 0), hour);
    assert_int_equal(ws_op_end(ops, 0), 1000 + hour);
    assert_int_equal(ws_op_host_end(ops, 0), 5 + 2 * hour);
    assert_true(ws_op_correlation(ops, 0) == 0xfedcba9876543210);
    assert_int_equal(ws_op_bytes(ops, 0), 123456789012345);
    assert_true(ws_op_correlation(ops, 1) == ((uint64_t)1 << 40 | trace->launches));
    assert_int_equal(ws_op_bytes(ops, 1), 0);
    built_finish(&built);
}

/* Rows of every family with random values: nothing may crash, and the whole report must be printed. */
static void rows_of_any_content_are_survived(void **state)
{
    uint64_t random = 77;
    (void)state;
    for (int round = 0; round < 30; round++) {
        struct built built;
        struct builder *trace = built_begin(&built);
        char row[TEST_ROW_BYTES];
        build_device(trace, 1, "Test GPU", 0, 0);
        build_stream(trace, 1, 1);
        build_kernel(trace, 1, kernel, 1000, 2000);
        for (int i = 0; i < 400; i++) {
            uint32_t family = next_random(&random) % WS_FAMILY_COUNT;
            test_row_fill(family, row, &random, 40);
            build_row(trace, family, row);
            if (family == WS_FAMILY_op && i % 2) {
                struct ws_op op;
                memcpy(&op, row, sizeof(op));
                op.shape = 1;
                op.result = 0;
                build_row(trace, WS_FAMILY_op, &op);
            }
        }
        built_report(&built);
        built_print(&built);
        built_finish(&built);
    }
}

/* A comparison of two empty texts at NULL must not call memcmp with NULL, which the sanitized build would report. */
static void a_row_without_its_text_may_come_twice(void **state)
{
    struct ws_entries rows;
    struct ws_arena texts = { NULL };
    const struct ws_label row = { .id = 7 };
    (void)state;
    ws_entries_init(&rows, WS_FAMILY_label);
    assert_int_equal(ws_entries_put(&rows, &texts, &row), 0);
    assert_int_equal(ws_entries_put(&rows, &texts, &row), 0);
    assert_int_equal(rows.rows.count, 1);
    assert_string_equal(((const struct ws_label *)ws_entries_find(&rows, 7))->text.data, "");
    ws_entries_finish(&rows);
    ws_arena_finish(&texts);
}

static void the_last_word_on_a_fact_counts(void **state)
{
    enum { FACTS = 3000 };
    struct built built;
    struct builder *trace = built_begin(&built);
    char key[16], value[16];
    (void)state;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < FACTS; i++) {
            snprintf(key, sizeof(key), "key%d", i);
            snprintf(value, sizeof(value), "%d", i % 7 + round % 2);
            build_meta(trace, key, value);
        }
    built_report(&built);
    const struct ws_process *process = ws_model_process(built.model, 0);
    for (int i = 0; i < FACTS; i++) {
        snprintf(key, sizeof(key), "key%d", i);
        snprintf(value, sizeof(value), "%d", i % 7);
        assert_string_equal(ws_process_meta(process, key), value);
    }
    assert_null(ws_process_meta(process, "key"));
    assert_null(ws_process_meta(process, ""));
    built_finish(&built);
}

static void names_need_not_be_utf8(void **state)
{
    static const char odd[] = "NVIDIA \xff\xc3";
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    /* The table of GPUs does not contain this device's name, so the peaks are computed from these figures. */
    struct ws_device device = { .id = 1,
                                .cc_major = 9,
                                .sms = 132,
                                .clock_khz = 1980000,
                                .memory_clock_khz = 2600000,
                                .memory_bus_bits = 5120,
                                .name = { odd, sizeof(odd) - 1 } };
    build_device(trace, 1, odd, 0, 0);
    build_row(trace, WS_FAMILY_device, &device);
    build_stream(trace, 1, 1);
    build_meta(trace, odd, odd);
    build_thread(trace, 1, 1, odd);
    build_range(trace, WS_RANGE_STEP, 1, odd, 0, 1000000);
    build_kernel(trace, 1, odd, 100000, 200000);
    build_kernel(trace, 1, odd, 900000, 910000);
    build_call(trace, odd, WS_CALL_SYNC, 200000, 800000);
    built_report(&built);
    built_print(&built);
    built_finish(&built);
}

static void a_trace_without_operations_has_a_report(void **state)
{
    struct built built;
    struct builder *trace = built_begin(&built);
    (void)state;
    build_meta(trace, "program", "idle");
    built_report(&built);
    assert_int_equal(built.model->tracks.count, 0);
    built_print(&built);
    built_finish(&built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_each_context_come_to_the_hosts_clock),
        cmocka_unit_test(nothing_begins_before_its_launch),
        cmocka_unit_test(a_device_is_used_where_it_has_a_context),
        cmocka_unit_test(what_has_no_interval_is_counted),
        cmocka_unit_test(lost_descriptions_get_names_that_say_so),
        cmocka_unit_test(what_belongs_to_no_device_has_a_track_of_its_own),
        cmocka_unit_test(same_name_from_two_modules_is_one_row),
        cmocka_unit_test(rows_in_any_order_come_into_order),
        cmocka_unit_test(each_device_gets_its_own),
        cmocka_unit_test(each_of_many_operations_gets_its_time),
        cmocka_unit_test(long_times_and_odd_correlations_are_kept),
        cmocka_unit_test(names_need_not_be_utf8),
        cmocka_unit_test(the_last_word_on_a_fact_counts),
        cmocka_unit_test(rows_of_any_content_are_survived),
        cmocka_unit_test(a_row_without_its_text_may_come_twice),
        cmocka_unit_test(a_trace_without_operations_has_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
