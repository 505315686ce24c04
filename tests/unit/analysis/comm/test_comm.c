#include "check.h"

#include "ranks.h"

static const char gelu[] = "vectorized_elementwise_kernel<GeluCUDAKernelImpl>";

/* Traces without NCCL calls: the n-th kernel of a name on one rank is matched with the n-th kernel of that name on
 * every other rank. */
static void kernels_are_matched_by_order(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 3, false);
    for (int64_t round = 0; round < 10; round++)
        for (int64_t rank = 0; rank < 3; rank++)
            build_kernel(job.traces[rank], COMM, ALL_REDUCE, round * ms + rank * 50 * us,
                         round * ms + 300 * us + rank * us);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->by_method[WS_MATCH_ORDER], 10);
    assert_int_equal(ranks_matches(&job)->unmatched, 0);
    assert_int_equal(ranks_rank(&job, 0)->waited, 10 * 100 * us);
    const struct ws_comm_kind *kind = ws_report_comm(job.report, 0)->kinds.data;
    assert_true(kind->by_name);
    assert_string_equal(ws_comm_name(kind->operation), "all-reduce");
    built_finish(&job);
}

/* Rank 1 lacks the first two kernels. So kernels are not matched by order but by time: matching kernels overlap and
 * end together. */
static void kernels_that_are_not_as_many_are_matched_by_time(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 2, false);
    for (int64_t round = 0; round < 10; round++)
        for (int64_t rank = 0; rank < 2; rank++)
            if (!rank || round >= 2)
                build_kernel(job.traces[rank], COMM, ALL_REDUCE, round * ms + rank * 50 * us, round * ms + 300 * us);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->by_method[WS_MATCH_TIME], 8);
    assert_int_equal(ranks_matches(&job)->unmatched, 2);
    assert_int_equal(ranks_rank(&job, 0)->matched, 8);
    assert_int_equal(ranks_rank(&job, 0)->waited, 8 * 50 * us);
    built_finish(&job);
}

/* Both ranks have the same number of kernels, but these belong to different collectives. The kernels must be matched
 * neither by order nor by time. */
static void kernels_that_do_not_end_together_are_not_matched(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 2, false);
    for (int64_t round = 0; round < 10; round++)
        for (int64_t rank = 0; rank < 2; rank++)
            build_kernel(job.traces[rank], COMM, ALL_REDUCE, round * ms + rank * (round * 70) * us,
                         round * ms + (200 + rank * (round * 75 + 70)) * us);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->by_method[WS_MATCH_ORDER], 0);
    assert_true(ranks_matches(&job)->unmatched >= 18);
    built_finish(&job);
}

/* No row of the trace describes the communicator of these calls. All-reduces are matched with all-reduces by order,
 * and all-gathers with all-gathers. */
static void calls_of_unknown_communicators_are_matched_by_order(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 2, false);
    for (int64_t round = 0; round < 10; round++)
        for (size_t rank = 0; rank < 2; rank++) {
            int64_t now = round * ms;
            /* in odd rounds, rank 1 runs the two collectives in the opposite order */
            bool gather_first = rank && round % 2;
            build_collective(job.traces[rank], gather_first ? "ncclAllGather" : "ncclAllReduce", 9, 0, 10, now,
                             now + 100 * us);
            build_collective(job.traces[rank], gather_first ? "ncclAllReduce" : "ncclAllGather", 9, 0, 10,
                             now + 10 * us, now + 100 * us);
        }
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->by_method[WS_MATCH_ORDER], 20);
    assert_int_equal(ranks_matches(&job)->unmatched, 0);
    assert_int_equal(ranks_cost(&job, 0)->all.matched, 20);
    built_finish(&job);
}

/* Sends and receives are numbered together with collectives, and the ranks have different numbers of sends and
 * receives. The collectives must be matched all the same. */
static void point_to_point_does_not_shift_the_numbers(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 2, false);
    for (uint32_t i = 0; i < 2; i++)
        build_comm(job.traces[i], 1, i, 2, 77);
    for (int64_t round = 0; round < 5; round++) {
        build_collective(job.traces[0], "ncclSend", 1, ++job.traces[0]->collectives, 10, round * ms,
                         round * ms + 10 * us);
        for (size_t rank = 0; rank < 2; rank++)
            build_all_reduce(job.traces[rank], round * ms + 100 * us, round * ms + 300 * us);
    }
    build_collective(job.traces[1], "ncclRecv", 1, ++job.traces[1]->collectives, 10, 9 * ms, 9 * ms + 10 * us);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->by_method[WS_MATCH_SEQUENCE], 5);
    assert_int_equal(ranks_matches(&job)->unmatched, 0);
    built_finish(&job);
}

/* Two communicators of the same size. A rank's number in a communicator differs from its number in the job. */
static void communicators_are_kept_apart(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 4, false);
    for (uint32_t i = 0; i < 4; i++)
        build_comm(job.traces[i], 1, i % 2, 2, 100 + i / 2);
    for (int64_t round = 0; round < 5; round++)
        for (size_t rank = 0; rank < 4; rank++)
            build_all_reduce(job.traces[rank], round * ms + (rank == 3 ? 200 : 100) * us, round * ms + 300 * us);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->by_method[WS_MATCH_SEQUENCE], 10);
    assert_int_equal(ranks_rank(&job, 0)->waited, 0);
    assert_int_equal(ranks_rank(&job, 2)->waited, 5 * 100 * us);
    assert_int_equal(ranks_rank(&job, 3)->number, 3);
    built_finish(&job);
}

/* The calls of an NCCL group share the group's launches, so they are one operation. */
static void a_group_is_one_operation(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 1, false);
    struct builder *trace = job.traces[0];
    build_comm(job.traces[0], 1, 0, 2, 77);
    build_kernel(trace, COMM, ALL_REDUCE, ms, 2 * ms);
    for (uint64_t i = 0; i < 3; i++) {
        struct ws_collective row = { .function = build_driver_function(trace, "ncclAllReduce", WS_CALL_NCCL),
                                     .thread = 1,
                                     .correlation = (uint64_t)1 << 40 | (100 + i),
                                     .comm = 1,
                                     .stream = COMM,
                                     .count = 1000,
                                     .datatype = 7,
                                     .sequence = i,
                                     .first_launch = (uint64_t)1 << 40 | 1,
                                     .last_launch = (uint64_t)1 << 40 | 1 };
        build_row(trace, WS_FAMILY_collective, &row);
    }
    built_report(&job);
    const struct ws_comm_kind *kind = ws_report_comm(job.report, 0)->kinds.data;
    assert_int_equal(ws_report_comm(job.report, 0)->ops.count, 1);
    assert_int_equal(kind->calls, 3);
    assert_int_equal(kind->bytes, 12000);
    assert_int_equal(ranks_cost(&job, 0)->all.total, ms);
    built_finish(&job);
}

/* However operations overlap, the exposed times of all operations of communication (times when no compute runs) add
 * up to the device's exposed time. */
static void exposed_times_add_up(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (int round = 0; round < 40; round++) {
        struct built job;
        ranks_begin(&job, 2, false);
        for (uint32_t i = 0; i < 2; i++)
            build_comm(job.traces[i], 1, i, 2, 77);
        for (int i = 0; i < 100; i++) {
            size_t rank = next_random(&random) % 2;
            int64_t begin = (int64_t)(next_random(&random) % 100000);
            int64_t end = begin + (int64_t)(next_random(&random) % 4000);
            switch (next_random(&random) % 4) {
            case 0:
                build_all_reduce(job.traces[rank], begin, end);
                break;
            case 1:
                build_kernel(job.traces[rank], COMM, ALL_REDUCE, begin, end);
                break;
            case 2:
                build_copy(job.traces[rank], COMPUTE, WS_SPACE_PINNED, WS_SPACE_DEVICE, 1, begin, end);
                break;
            default:
                build_kernel(job.traces[rank], COMPUTE, gelu, begin, end);
            }
        }
        built_report(&job);
        for (size_t track = 0; track < job.model->tracks.count; track++) {
            const struct ws_track_collectives *cost = ranks_cost(&job, track);
            const struct ws_track_activity *activity = ws_report_result(job.report, &ws_analysis_activity, track);
            assert_int_equal(cost->all.exposed, ranks_exposed_comm(&job, track));
            assert_int_equal(cost->all.overlap, activity->comm_overlap);
            assert_true(cost->all.exposed_wait >= 0 && cost->all.exposed_wait <= cost->all.exposed);
        }
        built_finish(&job);
    }
}

/* The operations' times, and so the differences between the ranks' clocks, are as large as a trace may state them. */
static void times_beyond_measure_do_no_harm(void **state)
{
    static const int64_t most = WS_TIME_MOST;
    for (int calls = 0; calls < 2; calls++) {
        struct built job;
        (void)state;
        ranks_begin(&job, 3, true);
        for (uint32_t i = 0; i < 3; i++)
            build_comm(job.traces[i], 1, i, 3, 77);
        for (int64_t round = 0; round < 40; round++)
            for (size_t rank = 0; rank < 3; rank++) {
                int64_t begin = rank == 1 ? most - 100 + round : rank == 2 ? -most : round;
                int64_t end = rank == 1 ? most : rank == 2 ? most - round : 1000;
                if (calls)
                    build_all_reduce(job.traces[rank], begin, end);
                else
                    build_kernel(job.traces[rank], COMM, ALL_REDUCE, begin, end);
            }
        built_report(&job);
        assert_true(ranks_rank(&job, 2)->waited >= 0);
        assert_true(ranks_cost(&job, 2)->all.total > 0);
        built_finish(&job);
    }
}

/* A damaged trace: rows with unknown identifiers, repeated numbers and absurd sizes must do no harm. */
static void rows_are_not_believed(void **state)
{
    static const char *const numbers[] = { "99999999999999999999", "-1" };
    struct built job;
    (void)state;
    ranks_begin_as(&job, 2, false, numbers);
    for (uint32_t i = 0; i < 2; i++) {
        build_comm(job.traces[i], 1, UINT32_MAX, UINT32_MAX, 77);
        build_collective(job.traces[i], "ncclAllReduce", 1, UINT64_MAX, UINT64_MAX, ms, 2 * ms);
        build_collective(job.traces[i], "ncclAllGather", 1, UINT64_MAX, UINT64_MAX / 3, 3 * ms, 4 * ms);
        build_collective(job.traces[i], "ncclAllReduce", 99, 1, 1, 5 * ms, 6 * ms);
        build_collective(job.traces[i], "no such function", 1, 1, 1, 7 * ms, 8 * ms);
        struct ws_collective row = { .first_launch = UINT64_MAX, .last_launch = 0, .comm = 1 };
        build_row(job.traces[i], WS_FAMILY_collective, &row);
        row = (struct ws_collective){ .first_launch = 1, .last_launch = UINT64_MAX, .comm = 1, .datatype = 999 };
        build_row(job.traces[i], WS_FAMILY_collective, &row);
    }
    built_report(&job);
    built_finish(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_unknown_communicators_are_matched_by_order),
        cmocka_unit_test(kernels_are_matched_by_order),
        cmocka_unit_test(kernels_that_are_not_as_many_are_matched_by_time),
        cmocka_unit_test(kernels_that_do_not_end_together_are_not_matched),
        cmocka_unit_test(point_to_point_does_not_shift_the_numbers),
        cmocka_unit_test(communicators_are_kept_apart),
        cmocka_unit_test(a_group_is_one_operation),
        cmocka_unit_test(exposed_times_add_up),
        cmocka_unit_test(times_beyond_measure_do_no_harm),
        cmocka_unit_test(rows_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
