#include "check.h"

#include "../unit/rows.h"
#include "load.h"

static const char *const kernel = "ampere_sgemm_128x64_nn";

static uint32_t kernel_shape(struct story *story, uint32_t stream)
{
    struct ws_shape shape = { .kind = WS_OP_KERNEL, .stream = stream, .function = story_function(story, kernel) };
    return story_shape(story, &shape);
}

static void times_of_each_context_come_to_the_hosts_clock(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    story_device(story, 1, "First", 1000000, 50);
    story_device(story, 2, "Second", -7000, 60);
    story_stream(story, 1, 1);
    story_stream(story, 2, 2);
    story_kernel(story, 1, kernel, 500, 900);
    story_kernel(story, 2, kernel, 10000, 10100);
    load_report(&loaded);
    assert_int_equal(loaded.model->tracks.count, 2);
    assert_int_equal(load_activity(&loaded, 0)->begin, 1000500);
    assert_int_equal(load_activity(&loaded, 0)->busy, 400);
    assert_int_equal(load_activity(&loaded, 1)->begin, 3000);
    assert_int_equal(ws_model_track(loaded.model, 0)->clock_error, 50);
    assert_int_equal(ws_model_track(loaded.model, 1)->device, 2);
    assert_string_equal(ws_track_device(loaded.model, ws_model_track(loaded.model, 1))->name.data, "Second");
    load_finish(&loaded);
}

static void a_device_is_used_where_it_has_a_context(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    struct ws_device unused = { .id = 1, .name = { "Unused", 6 } };
    story_add(story, WS_FAMILY_device, &unused);
    story_device(story, 2, "Used", 0, 0);
    load_report(&loaded);
    const struct ws_process *process = ws_model_process(loaded.model, 0);
    assert_int_equal(process->devices.rows.count, 2);
    assert_false(ws_process_uses_device(loaded.model, process, 1));
    assert_true(ws_process_uses_device(loaded.model, process, 2));
    load_finish(&loaded);
}

static void what_has_no_interval_is_counted(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    story_device(story, 1, "Test GPU", 0, 0);
    story_stream(story, 1, 1);
    uint32_t shape = kernel_shape(story, 1);
    struct ws_op plain = story_op(story, shape, 1000, 2000), op = plain;
    story_add(story, WS_FAMILY_op, &plain);
    op.flags = 0; /* no times */
    story_add(story, WS_FAMILY_op, &op);
    op.flags = WS_TIME_NONE | WS_TIME_MEASURED << 2; /* an end only */
    story_add(story, WS_FAMILY_op, &op);
    op = plain;
    op.flags |= WS_OP_CAPTURED;
    story_add(story, WS_FAMILY_op, &op);
    op = plain;
    op.result = 700;
    story_add(story, WS_FAMILY_op, &op);
    op = plain;
    op.end = op.begin - 1;
    story_add(story, WS_FAMILY_op, &op);
    struct ws_shape host = { .kind = WS_OP_HOST_FUNCTION, .stream = 1 };
    op = story_op(story, story_shape(story, &host), 5000, 9000);
    story_add(story, WS_FAMILY_op, &op);
    load_report(&loaded);
    const struct ws_track *track = ws_model_track(loaded.model, 0);
    assert_int_equal(track->count, 1);
    assert_int_equal(track->untimed, 2);
    assert_int_equal(track->captured, 1);
    assert_int_equal(track->failed, 1);
    assert_int_equal(track->backwards, 1);
    assert_int_equal(track->passive, 1);
    assert_int_equal(load_activity(&loaded, 0)->busy, 1000);
    load_finish(&loaded);
}

static void lost_descriptions_get_names_that_say_so(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    story_device(story, 1, "Test GPU", 0, 0);
    story_stream(story, 1, 1);
    struct ws_shape nameless = { .kind = WS_OP_KERNEL, .stream = 1, .function = 17 };
    struct ws_op op = story_op(story, story_shape(story, &nameless), 1000, 1500);
    story_add(story, WS_FAMILY_op, &op);
    op = story_op(story, 4000000000, 2000, 2200); /* no such shape */
    story_add(story, WS_FAMILY_op, &op);
    load_report(&loaded);
    assert_int_equal(loaded.model->tracks.count, 1);
    assert_non_null(load_kernel(&loaded, 0, "kernel #17 (name lost)"));
    assert_non_null(load_kernel(&loaded, 0, "operation #4000000000 (description lost)"));
    assert_int_equal(load_activity(&loaded, 0)->busy, 700);
    load_finish(&loaded);
}

static void what_belongs_to_no_device_has_a_track_of_its_own(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    story_device(story, 1, "First", 0, 0);
    story_device(story, 2, "Second", 0, 0);
    struct ws_op op = story_op(story, kernel_shape(story, 99), 1000, 1500); /* no such stream */
    story_add(story, WS_FAMILY_op, &op);
    load_report(&loaded);
    assert_int_equal(loaded.model->tracks.count, 3);
    assert_int_equal(ws_model_track(loaded.model, 0)->device, 0);
    assert_int_equal(ws_model_track(loaded.model, 0)->count, 1);
    assert_false(ws_model_track(loaded.model, 0)->aligned);
    load_finish(&loaded);
}

static void same_name_from_two_modules_is_one_row(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    story_device(story, 1, "Test GPU", 0, 0);
    story_stream(story, 1, 1);
    struct ws_function twin = { .id = 50, .handle = 50, .name = { kernel, (uint32_t)strlen(kernel) } };
    story_add(story, WS_FAMILY_function, &twin);
    struct ws_shape shape = { .kind = WS_OP_KERNEL, .stream = 1, .function = 50 };
    story_kernel(story, 1, kernel, 0, 10);
    struct ws_op op = story_op(story, story_shape(story, &shape), 20, 25);
    story_add(story, WS_FAMILY_op, &op);
    load_report(&loaded);
    assert_int_equal(load_kernel(&loaded, 0, kernel)->count, 2);
    assert_int_equal(load_kernel(&loaded, 0, kernel)->total, 15);
    load_finish(&loaded);
}

static int64_t order_sum(const struct loaded *loaded)
{
    const struct ws_track *track = ws_model_track(loaded->model, 0);
    const struct ws_ops *ops = &ws_model_process(loaded->model, 0)->ops;
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
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    uint64_t random = 2;
    (void)state;
    story_device(story, 1, "Test GPU", 0, 0);
    story_stream(story, 1, 1);
    uint32_t shape = kernel_shape(story, 1);
    for (int i = 0; i < OPS; i++) {
        int64_t begin = (int64_t)(next_random(&random) >> 24);
        struct ws_op op = story_op(story, shape, begin, begin + 100);
        story_add(story, WS_FAMILY_op, &op);
    }
    load_report(&loaded);
    assert_int_equal(ws_model_track(loaded.model, 0)->count, OPS);
    assert_int_equal(order_sum(&loaded), (int64_t)OPS * (OPS - 1) / 2);
    load_finish(&loaded);
}

/* Operations of several devices and streams in one file: each device has its own, all, in order. */
static void each_device_gets_its_own(void **state)
{
    enum { DEVICES = 3, STREAMS = 7, OPS = 5000 };
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    uint64_t random = 4;
    uint32_t shapes[STREAMS];
    size_t expected[DEVICES] = { 0 };
    (void)state;
    for (uint32_t device = DEVICES; device > 0; device--)
        story_device(story, device, "Test GPU", device * 1000000000, 0);
    for (uint32_t stream = 0; stream < STREAMS; stream++) {
        story_stream(story, stream + 1, stream % DEVICES + 1);
        shapes[stream] = kernel_shape(story, stream + 1);
    }
    for (int64_t i = 0; i < OPS; i++) {
        uint32_t stream = next_random(&random) % STREAMS;
        int64_t begin = i * 1000 + (int64_t)(next_random(&random) % 50000);
        struct ws_op op = story_op(story, shapes[stream], begin, begin + 10);
        story_add(story, WS_FAMILY_op, &op);
        expected[stream % DEVICES]++;
    }
    load_report(&loaded);
    assert_int_equal(loaded.model->tracks.count, DEVICES);
    const struct ws_process *process = ws_model_process(loaded.model, 0);
    for (size_t device = 0; device < DEVICES; device++) {
        const struct ws_track *track = ws_model_track(loaded.model, device);
        assert_int_equal(track->device, device + 1);
        assert_int_equal(track->count, expected[device]);
        for (size_t i = 0; i < track->count; i++) {
            uint32_t op = track->order[i];
            assert_int_equal(ws_process_shape(process, process->ops.shape[op])->track, device);
            if (i)
                assert_true(ws_op_begin(&process->ops, op) >= ws_op_begin(&process->ops, track->order[i - 1]));
        }
    }
    load_finish(&loaded);
}

/* So many that several threads share them, of devices whose clocks are hours apart, some without times. */
static void each_of_many_operations_gets_its_time(void **state)
{
    enum { DEVICES = 3, OPS = 600000 };
    const int64_t hour = 3600000000000;
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    size_t timed[DEVICES] = { 0 }, untimed[DEVICES] = { 0 };
    uint32_t shapes[DEVICES];
    (void)state;
    for (uint32_t device = 0; device < DEVICES; device++) {
        story_device(story, device + 1, "Test GPU", (int64_t)device * hour, 0);
        story_stream(story, device + 1, device + 1);
        shapes[device] = kernel_shape(story, device + 1);
    }
    for (int64_t i = 0; i < OPS; i++) {
        uint32_t device = (uint32_t)(i / 3 % DEVICES);
        int64_t begin = i * 1000 - (int64_t)device * hour; /* on the device's clock */
        struct ws_op op = story_op(story, shapes[device], begin, begin + 10 + i % 50 * (int64_t)(i < 100) * hour);
        op.host_begin = i * 1000 - 700;
        op.host_end = op.host_begin + 500;
        if (i % 7 == 0)
            op.begin = op.end = op.flags = 0;
        *(i % 7 ? &timed[device] : &untimed[device]) += 1;
        story_add(story, WS_FAMILY_op, &op);
    }
    load_report(&loaded);
    const struct ws_ops *ops = &ws_model_process(loaded.model, 0)->ops;
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
        const struct ws_track *track = ws_model_track(loaded.model, device);
        assert_int_equal(track->count, timed[device]);
        assert_int_equal(track->untimed, untimed[device]);
        for (size_t i = 1; i < track->count; i++)
            assert_true(ws_op_begin(ops, track->order[i]) > ws_op_begin(ops, track->order[i - 1]));
    }
    load_finish(&loaded);
}

/* What fits no 32 bits is kept all the same. */
static void long_times_and_odd_correlations_are_kept(void **state)
{
    const int64_t hour = 3600000000000;
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    story_device(story, 1, "Test GPU", 0, 0);
    story_stream(story, 1, 1);
    struct ws_op op = story_op(story, kernel_shape(story, 1), 1000, 1000 + hour);
    op.host_begin = 5;
    op.host_end = 5 + 2 * hour;
    op.correlation = 0xfedcba9876543210;
    op.bytes = 123456789012345;
    story_add(story, WS_FAMILY_op, &op);
    story_kernel(story, 1, kernel, 1000, 1001);
    load_report(&loaded);
    const struct ws_ops *ops = &ws_model_process(loaded.model, 0)->ops;
    assert_int_equal(ws_op_length(ops, 0), hour);
    assert_int_equal(ws_op_end(ops, 0), 1000 + hour);
    assert_int_equal(ws_op_host_end(ops, 0), 5 + 2 * hour);
    assert_true(ws_op_correlation(ops, 0) == 0xfedcba9876543210);
    assert_int_equal(ws_op_bytes(ops, 0), 123456789012345);
    assert_true(ws_op_correlation(ops, 1) == ((uint64_t)1 << 40 | story->launches));
    assert_int_equal(ws_op_bytes(ops, 1), 0);
    load_finish(&loaded);
}

static void print_everything(const struct ws_report *report)
{
    struct ws_page page = { .out = fopen("/dev/null", "w"), .width = 80, .top = 20 };
    assert_non_null(page.out);
    ws_report_print(report, &page, NULL, 0);
    fclose(page.out);
    json_t *json = ws_report_json(report);
    assert_non_null(json);
    json_decref(json);
}

/* Rows of every family with any values at all: nothing may crash, and all must be said. */
static void rows_of_any_content_are_survived(void **state)
{
    uint64_t random = 77;
    (void)state;
    for (int round = 0; round < 30; round++) {
        struct loaded loaded;
        struct story *story = load_begin(&loaded);
        char row[TEST_ROW_BYTES];
        story_device(story, 1, "Test GPU", 0, 0);
        story_stream(story, 1, 1);
        story_kernel(story, 1, kernel, 1000, 2000);
        for (int i = 0; i < 400; i++) {
            uint32_t family = next_random(&random) % WS_FAMILY_COUNT;
            test_row_fill(family, row, &random, 40);
            story_add(story, family, row);
            if (family == WS_FAMILY_op && i % 2) {
                struct ws_op op;
                memcpy(&op, row, sizeof(op));
                op.shape = 1;
                op.result = 0;
                story_add(story, WS_FAMILY_op, &op);
            }
        }
        load_report(&loaded);
        print_everything(loaded.report);
        load_finish(&loaded);
    }
}

/* The sanitized build says what a comparison of no bytes at no address is. */
static void a_row_without_its_text_may_come_twice(void **state)
{
    struct ws_rows rows;
    struct ws_arena texts = { NULL };
    const struct ws_label row = { .id = 7 };
    (void)state;
    ws_rows_init(&rows, WS_FAMILY_label);
    assert_int_equal(ws_rows_put(&rows, &texts, &row), 0);
    assert_int_equal(ws_rows_put(&rows, &texts, &row), 0);
    assert_int_equal(rows.rows.count, 1);
    assert_string_equal(((const struct ws_label *)ws_rows_find(&rows, 7))->text.data, "");
    ws_rows_finish(&rows);
    ws_arena_finish(&texts);
}

static void the_last_word_on_a_fact_counts(void **state)
{
    enum { FACTS = 3000 };
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    char key[16], value[16];
    (void)state;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < FACTS; i++) {
            snprintf(key, sizeof(key), "key%d", i);
            snprintf(value, sizeof(value), "%d", i % 7 + round % 2);
            story_meta(story, key, value);
        }
    load_report(&loaded);
    const struct ws_process *process = ws_model_process(loaded.model, 0);
    for (int i = 0; i < FACTS; i++) {
        snprintf(key, sizeof(key), "key%d", i);
        snprintf(value, sizeof(value), "%d", i % 7);
        assert_string_equal(ws_process_meta(process, key), value);
    }
    assert_null(ws_process_meta(process, "key"));
    assert_null(ws_process_meta(process, ""));
    load_finish(&loaded);
}

static void names_need_not_be_utf8(void **state)
{
    static const char odd[] = "NVIDIA \xff\xc3";
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    /* Without a GPU of that name its peaks follow from these. */
    struct ws_device device = { .id = 1,
                                .cc_major = 9,
                                .sms = 132,
                                .clock_khz = 1980000,
                                .memory_clock_khz = 2600000,
                                .memory_bus_bits = 5120,
                                .name = { odd, sizeof(odd) - 1 } };
    story_device(story, 1, odd, 0, 0);
    story_add(story, WS_FAMILY_device, &device);
    story_stream(story, 1, 1);
    story_meta(story, odd, odd);
    story_thread(story, 1, 1, odd);
    story_range(story, WS_RANGE_STEP, 1, odd, 0, 1000000);
    story_kernel(story, 1, odd, 100000, 200000);
    story_kernel(story, 1, odd, 900000, 910000);
    story_call(story, odd, WS_CALL_SYNC, 200000, 800000);
    load_report(&loaded);
    print_everything(loaded.report);
    load_finish(&loaded);
}

static void a_trace_without_operations_has_a_report(void **state)
{
    struct loaded loaded;
    struct story *story = load_begin(&loaded);
    (void)state;
    story_meta(story, "program", "idle");
    load_report(&loaded);
    assert_int_equal(loaded.model->tracks.count, 0);
    print_everything(loaded.report);
    load_finish(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_each_context_come_to_the_hosts_clock),
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
