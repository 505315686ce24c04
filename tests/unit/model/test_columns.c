/* Tests that the model's compact columns (sparse values, errors, threads, times, delays) give back the values that
 * were put in. */
#include "check.h"

#include "analysis/activity/delays.h"
#include "model/ops.h"
#include "model/sort.h"
#include "model/sparse.h"

static void sparse_values_are_found_by_row(void **state)
{
    (void)state;
    enum { ROWS = 5000 };
    static uint64_t plain[ROWS];
    static bool has[ROWS];
    struct ws_sparse sparse = { 0 };
    uint64_t random = 7;
    assert_null(ws_sparse_get(&sparse, 0));
    assert_null(ws_sparse_last(&sparse, 100));
    assert_int_equal(ws_sparse_next(&sparse, 0), SIZE_MAX);
    /* In some stretches every row has a value, in others few rows have one, in others none. The stretches begin and
     * end within 64-bit words of the bitmap. */
    for (size_t i = 70; i < ROWS - 200; i++) {
        has[i] = i < 400 || (i < 3000 && next_random(&random) % 50 == 0) || i > 4100;
        plain[i] = next_random(&random);
        if (has[i])
            assert_int_equal(ws_sparse_add(&sparse, i, plain[i]), 0);
    }
    size_t count = 0, last = SIZE_MAX;
    for (size_t i = 0; i < ROWS; i++) {
        const uint64_t *value = ws_sparse_get(&sparse, i), *before = ws_sparse_last(&sparse, i);
        assert_int_equal(value != NULL, has[i]);
        if (has[i]) {
            assert_int_equal(*value, plain[i]);
            last = i;
            count++;
        }
        assert_int_equal(before != NULL, last != SIZE_MAX);
        if (before)
            assert_int_equal(*before, plain[last]);
        size_t next = i;
        while (next < ROWS && !has[next])
            next++;
        assert_int_equal(ws_sparse_next(&sparse, i), next < ROWS ? next : SIZE_MAX);
    }
    assert_int_equal(ws_sparse_count(&sparse), count);
    ws_sparse_finish(&sparse);
}

static void errors_are_rounded_up_by_little(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (uint32_t error = 0; error < 2048; error++)
        assert_int_equal(ws_error_ns(ws_error_keep(error)), error);
    for (int i = 0; i < 200000; i++) {
        uint32_t error = (uint32_t)next_random(&random) >> next_random(&random) % 32;
        int64_t kept = ws_error_ns(ws_error_keep(error));
        assert_true(kept >= error);
        assert_true((kept - error) * 1000 <= error);
    }
    assert_true(ws_error_ns(ws_error_keep(UINT32_MAX)) >= UINT32_MAX);
}

static int add_rows(struct ws_ops *ops, const struct ws_op *rows, uint32_t count)
{
    struct ws_op_columns columns = ws_op_columns_of_rows(rows);
    return ws_ops_add(ops, &columns, count, 0);
}

static void correlations_come_back_whatever_they_are(void **state)
{
    (void)state;
    enum { ROWS = 4000 };
    static struct ws_op rows[ROWS];
    struct ws_ops ops = { 0 };
    uint64_t random = 11;
    for (uint64_t i = 0; i < ROWS; i++) {
        rows[i].thread = 1 + (uint32_t)(i / 100 % 3);
        rows[i].correlation = (uint64_t)rows[i].thread << 40 | (i * 2 / 3);
        if (i > 1000 && i < 1200)
            rows[i].correlation = next_random(&random);
        if (i > 2000 && i < 2100)
            rows[i].correlation = 5;
    }
    assert_int_equal(add_rows(&ops, rows, ROWS / 2), 0);
    assert_int_equal(add_rows(&ops, rows + ROWS / 2, ROWS / 2), 0);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(ws_op_correlation(&ops, i), rows[i].correlation);
    ws_ops_finish(&ops);
}

/* First all rows have the same thread. Then two threads take turns, then some rows have no thread, and then each row
 * has a different thread. */
static void threads_come_back_whatever_they_are(void **state)
{
    (void)state;
    enum { ROWS = 4000 };
    static struct ws_op rows[ROWS];
    struct ws_ops ops = { 0 };
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i].thread = i < 1000 ? 7 : i < 2000 ? 7 + i % 2 : i < 3000 ? i / 3 % 5 : i;
    assert_int_equal(add_rows(&ops, rows, ROWS / 2 - 1), 0);
    assert_int_equal(add_rows(&ops, rows + ROWS / 2 - 1, ROWS / 2 + 1), 0);
    const uint32_t *threads = ops.threads.data;
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(ws_op_thread(&ops, i), rows[i].thread);
        assert_int_equal(threads[ws_op_thread_place(&ops, i)], rows[i].thread);
        assert_int_equal(ws_op_has_call(&ops, i), rows[i].thread != 0);
    }
    for (size_t i = 0; i < ops.threads.count; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(threads[i], threads[j]);
    assert_int_equal(ws_sparse_count(&ops.row_threads), 1 + 999 + 334 + 1000);
    ws_ops_finish(&ops);
}

/* ---- times */

enum { TIMES = 700000, RUNS = 5 }; /* with so many times, several threads share the sorting */

/* Times in blocks of 1000 rows, by turns: random, further apart than 32-bit offsets reach, at the limits of int64_t,
 * and close together. */
static int64_t time_of(size_t row, uint64_t *random)
{
    switch (row / 1000 % 4) {
    case 0:
        return (int64_t)(next_random(random) >> 1);
    case 1:
        return (int64_t)row * 3000000000;
    case 2:
        return row % 2 ? INT64_MIN : INT64_MAX;
    default:
        return (int64_t)row * 1000 + (int64_t)(next_random(random) % 2000000);
    }
}

static void times_come_back_near_or_far(void **state)
{
    (void)state;
    enum { ROWS = 9000 };
    static int64_t plain[ROWS];
    struct ws_times times = { 0 };
    uint64_t random = 17;
    assert_int_equal(ws_times_reach(&times, 0, ROWS / 2), 0);
    for (size_t i = 0; i < ROWS; i++) {
        if (i == ROWS / 2)
            assert_int_equal(ws_times_reach(&times, i, ROWS), 0);
        plain[i] = time_of(i, &random);
        assert_int_equal(ws_times_append(&times, i, plain[i]), 0);
    }
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(ws_times_get(&times, i), plain[i]);
    /* The largest offsets that fit into 32 bits, and the smallest that do not. */
    const int64_t edges[] = { 0, INT32_MAX, (int64_t)INT32_MAX + 1, -INT32_MAX, INT32_MIN, (int64_t)INT32_MIN - 1 };
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        assert_int_equal(ws_times_append(&times, i, 5000 + edges[i]), 0);
        assert_int_equal(ws_times_get(&times, i), 5000 + edges[i]);
        assert_int_equal(times.offsets[i] == WS_TIME_FAR, i == 2 || i == 4 || i == 5);
    }
    ws_times_finish(&times);
}

static const struct ws_times *sorted_by;

static int by_time(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t s = ws_times_get(sorted_by, x), t = ws_times_get(sorted_by, y);
    return s != t ? (s > t) - (s < t) : (x > y) - (x < y);
}

/* Sorts each of several lists of rows (runs) by time, and merges the sorted runs. Many times are equal; one run is
 * empty. */
static void runs_merge_as_they_would_sort(void **state)
{
    (void)state;
    struct ws_times times = { 0 };
    uint32_t *runs = malloc(TIMES * sizeof(*runs)), *merged = malloc(TIMES * sizeof(*merged));
    uint32_t *expected = malloc(TIMES * sizeof(*expected));
    size_t starts[RUNS + 1] = { 0 };
    uint64_t random = 23;
    assert_int_equal(ws_times_reach(&times, 0, TIMES), 0);
    assert_true(runs && merged && expected);
    for (size_t i = 0; i < TIMES; i++)
        assert_int_equal(ws_times_append(&times, i, (int64_t)(i / 8 + next_random(&random) % 3)), 0);
    for (size_t run = 0, place = 0; run < RUNS; run++) {
        for (size_t i = 0; i < TIMES && run != 3; i++)
            if (i % 10 == run || (run == 0 && i % 10 == 3) || (run == 4 && i % 10 > 4))
                runs[place++] = (uint32_t)i;
        starts[run + 1] = place;
    }
    assert_int_equal(starts[RUNS], TIMES);
    memcpy(expected, runs, TIMES * sizeof(*runs));
    sorted_by = &times;
    qsort(expected, TIMES, sizeof(*expected), by_time);
    for (size_t run = 0; run < RUNS; run++)
        assert_int_equal(ws_sort_by_time(runs + starts[run], starts[run + 1] - starts[run], &times), 0);
    assert_int_equal(ws_merge_by_time(merged, runs, starts, RUNS, &times), 0);
    assert_memory_equal(merged, expected, TIMES * sizeof(*merged));
    free(runs);
    free(merged);
    free(expected);
    ws_times_finish(&times);
}

/* ---- delays */

enum { STREAMS = 4, LAUNCHES = 120000 };

struct scene {
    struct ws_process process;
    struct ws_track track;
    uint32_t order[LAUNCHES];
    struct ws_op rows[LAUNCHES];
    struct ws_arena texts;
};

/* Shape s (what equal launches have in common) belongs to stream s + 1; the last shape has no stream. */
static struct scene *make_scene(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    struct ws_process *process = &scene->process;
    ws_entries_init(&process->streams, WS_FAMILY_stream);
    process->shapes = WS_VECTOR(struct ws_op_shape);
    for (uint32_t i = 0; i <= STREAMS; i++) {
        struct ws_stream stream = { .id = i + 1 };
        struct ws_op_shape *shape = ws_vector_push(&process->shapes);
        assert_non_null(shape);
        shape->stream = i < STREAMS ? i : WS_NOWHERE;
        if (i < STREAMS)
            assert_int_equal(ws_entries_put(&process->streams, &scene->texts, &stream), 0);
    }
    return scene;
}

static void free_scene(struct scene *scene)
{
    ws_entries_finish(&scene->process.streams);
    ws_vector_finish(&scene->process.shapes);
    ws_ops_finish(&scene->process.ops);
    ws_arena_finish(&scene->texts);
    free(scene);
}

/* Delays from launch to begin. On stream 1 they grow as its queue fills; on stream 2 they are almost constant; on
 * stream 3 they have every magnitude and may be negative; stream 4 has few launches. The launches of shape 4 belong
 * to no stream. */
static int64_t delay_of(uint32_t stream, size_t i, uint64_t *random)
{
    switch (stream) {
    case 0:
        return 5000 + (int64_t)(i % 1000) * 7001;
    case 1:
        return 6000 + (int64_t)(next_random(random) % 40);
    case 2: {
        int64_t far = (int64_t)(next_random(random) >> (4 + next_random(random) % 58));
        return next_random(random) % 3 ? far : -far;
    }
    default:
        return (int64_t)(next_random(random) % 100000000);
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void delays_are_exact(void **state)
{
    (void)state;
    struct scene *scene = make_scene();
    struct ws_vector found = WS_VECTOR(struct ws_stream_delays);
    int64_t *values[STREAMS + 1];
    size_t counts[STREAMS + 1] = { 0 };
    uint64_t random = 99;
    for (int i = 0; i <= STREAMS; i++)
        assert_non_null(values[i] = calloc(LAUNCHES, sizeof(int64_t)));
    for (size_t i = 0; i < LAUNCHES; i++) {
        uint32_t stream = i % 100 == 0 ? 3 : i % 100 == 1 ? 4 : (uint32_t)(next_random(&random) % 3);
        int64_t delay = delay_of(stream, i, &random), host_begin = (int64_t)i * 10000;
        scene->rows[i] = (struct ws_op){ .shape = stream,
                                         .thread = 1,
                                         .flags = WS_TIME_MEASURED | WS_TIME_MEASURED << 2,
                                         .host_begin = host_begin,
                                         .host_end = host_begin + 3000,
                                         .begin = host_begin + delay,
                                         .end = host_begin + delay + 1 };
        scene->order[i] = (uint32_t)i;
        values[stream][counts[stream]++] = delay;
    }
    assert_int_equal(add_rows(&scene->process.ops, scene->rows, LAUNCHES), 0);
    scene->track = (struct ws_track){ .order = scene->order, .count = LAUNCHES };
    assert_int_equal(ws_delays_measure(&scene->process, &scene->track, &found), 0);
    assert_int_equal(found.count, STREAMS + 1);
    const struct ws_stream_delays *rows = found.data;
    for (size_t i = 0; i < found.count; i++) {
        size_t series = rows[i].stream ? rows[i].stream - 1 : STREAMS, count = counts[series];
        qsort(values[series], count, sizeof(int64_t), ascending);
        assert_int_equal(rows[i].count, count);
        assert_int_equal(rows[i].median, values[series][(count - 1) / 2]);
        assert_int_equal(rows[i].p95, values[series][(count - 1) * 95 / 100]);
        assert_int_equal(rows[i].max, values[series][count - 1]);
        assert_true(!i || rows[i - 1].count >= rows[i].count);
    }
    for (int i = 0; i <= STREAMS; i++)
        free(values[i]);
    ws_vector_finish(&found);
    free_scene(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_values_are_found_by_row),
        cmocka_unit_test(errors_are_rounded_up_by_little),
        cmocka_unit_test(correlations_come_back_whatever_they_are),
        cmocka_unit_test(threads_come_back_whatever_they_are),
        cmocka_unit_test(times_come_back_near_or_far),
        cmocka_unit_test(runs_merge_as_they_would_sort),
        cmocka_unit_test(delays_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
