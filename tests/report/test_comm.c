#include "check.h"

#include "job.h"

static const char gelu[] = "vectorized_elementwise_kernel<GeluCUDAKernelImpl>";

/* Traces without calls: the n-th kernel of a name on each rank. */
static void kernels_are_matched_by_order(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 3, false);
    for (int64_t round = 0; round < 10; round++)
        for (int64_t rank = 0; rank < 3; rank++)
            story_kernel(&job.stories[rank], COMM, ALL_REDUCE, round * ms + rank * 50 * us,
                         round * ms + 300 * us + rank * us);
    job_report(&job);
    assert_int_equal(job_matches(&job)->by_method[WS_MATCH_ORDER], 10);
    assert_int_equal(job_matches(&job)->unmatched, 0);
    assert_int_equal(job_rank(&job, 0)->waited, 10 * 100 * us);
    const struct ws_comm_kind *kind = ws_report_comm(job.report, 0)->kinds.data;
    assert_true(kind->by_name);
    assert_string_equal(ws_comm_name(kind->operation), "all-reduce");
    job_finish(&job);
}

/* One rank lacks the first two: only those that run and end together are one collective. */
static void kernels_that_are_not_as_many_are_matched_by_time(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 2, false);
    for (int64_t round = 0; round < 10; round++)
        for (int64_t rank = 0; rank < 2; rank++)
            if (!rank || round >= 2)
                story_kernel(&job.stories[rank], COMM, ALL_REDUCE, round * ms + rank * 50 * us,
                             round * ms + 300 * us);
    job_report(&job);
    assert_int_equal(job_matches(&job)->by_method[WS_MATCH_TIME], 8);
    assert_int_equal(job_matches(&job)->unmatched, 2);
    assert_int_equal(job_rank(&job, 0)->matched, 8);
    assert_int_equal(job_rank(&job, 0)->waited, 8 * 50 * us);
    job_finish(&job);
}

/* As many, but of different collectives: neither order nor time makes a match. */
static void kernels_that_do_not_end_together_are_not_matched(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 2, false);
    for (int64_t round = 0; round < 10; round++)
        for (int64_t rank = 0; rank < 2; rank++)
            story_kernel(&job.stories[rank], COMM, ALL_REDUCE, round * ms + rank * (round * 70) * us,
                         round * ms + (200 + rank * (round * 75 + 70)) * us);
    job_report(&job);
    assert_int_equal(job_matches(&job)->by_method[WS_MATCH_ORDER], 0);
    assert_true(job_matches(&job)->unmatched >= 18);
    job_finish(&job);
}

/* Calls whose communicator no row describes: kernels of one name, those of each operation by themselves. */
static void calls_of_unknown_communicators_are_matched_by_order(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 2, false);
    for (int64_t round = 0; round < 10; round++)
        for (size_t rank = 0; rank < 2; rank++) {
            int64_t now = round * ms;
            bool gather_first = rank && round % 2; /* the ranks' streams order them otherwise */
            job_call(&job, rank, gather_first ? "ncclAllGather" : "ncclAllReduce", 9, 0, 10, now, now + 100 * us);
            job_call(&job, rank, gather_first ? "ncclAllReduce" : "ncclAllGather", 9, 0, 10, now + 10 * us,
                     now + 100 * us);
        }
    job_report(&job);
    assert_int_equal(job_matches(&job)->by_method[WS_MATCH_ORDER], 20);
    assert_int_equal(job_matches(&job)->unmatched, 0);
    assert_int_equal(job_cost(&job, 0)->all.matched, 20);
    job_finish(&job);
}

/* Sends and receives are numbered with the rest, but not alike on every rank. */
static void point_to_point_does_not_shift_the_numbers(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 2, false);
    for (uint32_t i = 0; i < 2; i++)
        job_comm(&job, i, 1, i, 2, 77);
    for (int64_t round = 0; round < 5; round++) {
        job_call(&job, 0, "ncclSend", 1, ++job.sequence[0], 10, round * ms, round * ms + 10 * us);
        for (size_t rank = 0; rank < 2; rank++)
            job_all_reduce(&job, rank, round * ms + 100 * us, round * ms + 300 * us);
    }
    job_call(&job, 1, "ncclRecv", 1, ++job.sequence[1], 10, 9 * ms, 9 * ms + 10 * us);
    job_report(&job);
    assert_int_equal(job_matches(&job)->by_method[WS_MATCH_SEQUENCE], 5);
    assert_int_equal(job_matches(&job)->unmatched, 0);
    job_finish(&job);
}

/* Two communicators of one size, in which ranks have other numbers than in the job. */
static void communicators_are_kept_apart(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 4, false);
    for (uint32_t i = 0; i < 4; i++)
        job_comm(&job, i, 1, i % 2, 2, 100 + i / 2);
    for (int64_t round = 0; round < 5; round++)
        for (size_t rank = 0; rank < 4; rank++)
            job_all_reduce(&job, rank, round * ms + (rank == 3 ? 200 : 100) * us, round * ms + 300 * us);
    job_report(&job);
    assert_int_equal(job_matches(&job)->by_method[WS_MATCH_SEQUENCE], 10);
    assert_int_equal(job_rank(&job, 0)->waited, 0);
    assert_int_equal(job_rank(&job, 2)->waited, 5 * 100 * us);
    assert_int_equal(job_rank(&job, 3)->number, 3);
    job_finish(&job);
}

/* Calls of one group have its launches together. */
static void a_group_is_one_operation(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 1, false);
    struct story *story = &job.stories[0];
    job_comm(&job, 0, 1, 0, 2, 77);
    story_kernel(story, COMM, ALL_REDUCE, ms, 2 * ms);
    for (uint64_t i = 0; i < 3; i++) {
        struct ws_collective row = { .function = story_driver_function(story, "ncclAllReduce", WS_CALL_NCCL),
                                     .thread = 1,
                                     .correlation = (uint64_t)1 << 40 | (100 + i),
                                     .comm = 1,
                                     .stream = COMM,
                                     .count = 1000,
                                     .datatype = 7,
                                     .sequence = i,
                                     .first_launch = (uint64_t)1 << 40 | 1,
                                     .last_launch = (uint64_t)1 << 40 | 1 };
        story_add(story, WS_FAMILY_collective, &row);
    }
    job_report(&job);
    const struct ws_comm_kind *kind = ws_report_comm(job.report, 0)->kinds.data;
    assert_int_equal(ws_report_comm(job.report, 0)->ops.count, 1);
    assert_int_equal(kind->calls, 3);
    assert_int_equal(kind->bytes, 12000);
    assert_int_equal(job_cost(&job, 0)->all.total, ms);
    job_finish(&job);
}

/* Whatever overlaps whatever, what is exposed of operations is what is exposed of the device. */
static void exposed_times_add_up(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (int round = 0; round < 40; round++) {
        struct job job;
        job_begin(&job, 2, false);
        for (uint32_t i = 0; i < 2; i++)
            job_comm(&job, i, 1, i, 2, 77);
        for (int i = 0; i < 100; i++) {
            size_t rank = next_random(&random) % 2;
            int64_t begin = (int64_t)(next_random(&random) % 100000);
            int64_t end = begin + (int64_t)(next_random(&random) % 4000);
            switch (next_random(&random) % 4) {
            case 0:
                job_all_reduce(&job, rank, begin, end);
                break;
            case 1:
                story_kernel(&job.stories[rank], COMM, ALL_REDUCE, begin, end);
                break;
            case 2:
                story_copy(&job.stories[rank], COMPUTE, WS_SPACE_PINNED, WS_SPACE_DEVICE, 1, begin, end);
                break;
            default:
                story_kernel(&job.stories[rank], COMPUTE, gelu, begin, end);
            }
        }
        job_report(&job);
        for (size_t track = 0; track < job.model->tracks.count; track++) {
            const struct ws_track_collectives *cost = job_cost(&job, track);
            const struct ws_track_activity *activity = ws_report_result(job.report, &ws_analysis_activity, track);
            assert_int_equal(cost->all.exposed, job_exposed_comm(&job, track));
            assert_int_equal(cost->all.overlap, activity->comm_overlap);
            assert_true(cost->all.exposed_wait >= 0 && cost->all.exposed_wait <= cost->all.exposed);
        }
        job_finish(&job);
    }
}

/* As far away as times may be, on clocks that differ by as much. */
static void times_beyond_measure_do_no_harm(void **state)
{
    static const int64_t most = WS_TIME_MOST;
    for (int calls = 0; calls < 2; calls++) {
        struct job job;
        (void)state;
        job_begin(&job, 3, true);
        for (uint32_t i = 0; i < 3; i++)
            job_comm(&job, i, 1, i, 3, 77);
        for (int64_t round = 0; round < 40; round++)
            for (size_t rank = 0; rank < 3; rank++) {
                int64_t begin = rank == 1 ? most - 100 + round : rank == 2 ? -most : round;
                int64_t end = rank == 1 ? most : rank == 2 ? most - round : 1000;
                if (calls)
                    job_all_reduce(&job, rank, begin, end);
                else
                    story_kernel(&job.stories[rank], COMM, ALL_REDUCE, begin, end);
            }
        job_report(&job);
        assert_true(job_rank(&job, 2)->waited >= 0);
        assert_true(job_cost(&job, 2)->all.total > 0);
        job_finish(&job);
    }
}

/* Identifiers that nothing describes, numbers that come twice, sizes beyond measure. */
static void rows_are_not_believed(void **state)
{
    static const char *const numbers[] = { "99999999999999999999", "-1" };
    struct job job;
    (void)state;
    job_begin_as(&job, 2, false, numbers);
    for (uint32_t i = 0; i < 2; i++) {
        job_comm(&job, i, 1, UINT32_MAX, UINT32_MAX, 77);
        job_call(&job, i, "ncclAllReduce", 1, UINT64_MAX, UINT64_MAX, ms, 2 * ms);
        job_call(&job, i, "ncclAllGather", 1, UINT64_MAX, UINT64_MAX / 3, 3 * ms, 4 * ms);
        job_call(&job, i, "ncclAllReduce", 99, 1, 1, 5 * ms, 6 * ms);
        job_call(&job, i, "no such function", 1, 1, 1, 7 * ms, 8 * ms);
        struct ws_collective row = { .first_launch = UINT64_MAX, .last_launch = 0, .comm = 1 };
        story_add(&job.stories[i], WS_FAMILY_collective, &row);
        row = (struct ws_collective){ .first_launch = 1, .last_launch = UINT64_MAX, .comm = 1, .datatype = 999 };
        story_add(&job.stories[i], WS_FAMILY_collective, &row);
    }
    job_report(&job);
    job_finish(&job);
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
