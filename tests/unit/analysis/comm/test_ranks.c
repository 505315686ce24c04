#include "check.h"

#include "analysis/verdict/wall.h"
#include "ranks.h"

static void a_slow_rank_is_named(void **state)
{
    static const int64_t compute[] = { 400000, 400000, 900000, 400000 }, offset[4];
    struct built job;
    (void)state;
    ranks_begin(&job, 4, false);
    for (uint32_t i = 0; i < 4; i++)
        build_comm(job.traces[i], 1, i, 4, 77);
    ranks_rounds(&job, 10, compute, offset, 100 * us);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->by_method[WS_MATCH_SEQUENCE], 10);
    assert_int_equal(ranks_matches(&job)->unmatched, 0);
    assert_int_equal(ranks_matches(&job)->stragglers, 1);
    assert_true(ranks_rank(&job, 2)->straggler);
    assert_int_equal(ranks_rank(&job, 2)->number, 2);
    assert_int_equal(ranks_rank(&job, 2)->late, 10);
    assert_int_equal(ranks_rank(&job, 2)->waited, 0);
    assert_int_equal(ranks_rank(&job, 2)->caused, 3 * 10 * 500 * us);
    for (size_t rank = 0; rank < 4; rank++) {
        const struct ws_track_collectives *cost = ranks_cost(&job, rank);
        int64_t waits = rank == 2 ? 0 : 10 * 500 * us;
        assert_int_equal(cost->all.waited, waits);
        assert_int_equal(cost->all.exposed_wait, waits);
        assert_int_equal(cost->all.transfer, 10 * 100 * us);
        assert_int_equal(cost->all.matched_bytes, 10 * 4000000);
        assert_int_equal(cost->caused_by_stragglers, waits);
    }
    struct ws_lateness lateness = ws_lateness_of(job.report, 2);
    /* nine of the ten rounds, because ranks are compared only from the first collective on */
    assert_int_equal(lateness.compute, 9 * 500 * us);
    assert_int_equal(lateness.idle, 0);
    assert_true(lateness.same_kernels);
    /* The report shows the rank that makes the others wait, not a rank that waits. */
    assert_true(ws_report_slowest(job.report).is_late);
    assert_int_equal(ws_report_slowest(job.report).shown, 2);
    const struct ws_track_wall *victim = ws_report_result(job.report, &ws_analysis_wall, 0);
    assert_in_range(victim->comm_waiting, victim->parts[WS_PART_EXPOSED_COMM] - 10 * 100 * us - us,
                    victim->parts[WS_PART_EXPOSED_COMM] - 10 * 100 * us + us);
    /* The advice to a waiting rank states what that rank would save. The advice to the late rank states what the job
     * would save. */
    ranks_assert_advised(&job, 0, "straggler", WS_PART_EXPOSED_COMM, 10 * 500 * us);
    ranks_assert_advised(&job, 2, "straggler", WS_PART_MATMUL, 9 * 500 * us);
    built_finish(&job);
}

/* 4 MB in 20 ms are a bus bandwidth of 0.3 GB/s, which is too slow for any link. The same bytes in 100 µs are 60
 * GB/s. */
static void a_slow_link_is_named(void **state)
{
    static const int64_t compute[4] = { 400000, 400000, 400000, 400000 }, offset[4];
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct built job;
        ranks_begin(&job, 4, false);
        for (uint32_t i = 0; i < 4; i++)
            build_comm(job.traces[i], 1, i, 4, 77);
        ranks_rounds(&job, 10, compute, offset, slow ? 20 * ms : 100 * us);
        built_report(&job);
        const struct ws_comm_cost *all = &ranks_cost(&job, 0)->all;
        assert_float_equal(all->fastest, slow ? 0.3 : 60, 1e-6);
        const struct ws_track_wall *wall = ws_report_result(job.report, &ws_analysis_wall, 0);
        const struct ws_advice *advice = wall->advice.items.data;
        bool named = false;
        for (size_t i = 0; i < wall->advice.items.count; i++)
            named |= advice[i].name && !strcmp(advice[i].name, "slow_link");
        assert_int_equal(named, slow);
        built_finish(&job);
    }
}

/* Rank 1 is late because its host loads data. Its device is idle during that time, and computes no longer than the
 * other rank's device. */
static void a_late_host_is_told_from_a_slow_device(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 2, false);
    for (uint32_t i = 0; i < 2; i++)
        build_comm(job.traces[i], 1, i, 2, 77);
    for (int64_t round = 0; round < 10; round++) {
        int64_t now = ms + round * 2 * ms;
        build_kernel(job.traces[0], COMPUTE, GEMM, now, now + 400 * us);
        build_range(job.traces[1], WS_RANGE_ANNOTATION, 1, "enumerate(DataLoader)#_SingleProcess.__next__",
                    now - 700 * us, now + 680 * us);
        build_kernel(job.traces[1], COMPUTE, GEMM, now + 700 * us, now + 1100 * us);
        build_all_reduce(job.traces[0], now + 400 * us, now + 1200 * us);
        build_all_reduce(job.traces[1], now + 1100 * us, now + 1200 * us);
    }
    built_report(&job);
    assert_true(ranks_rank(&job, 1)->straggler);
    struct ws_lateness lateness = ws_lateness_of(job.report, 1);
    assert_int_equal(lateness.compute, 0);
    assert_int_equal(lateness.idle, 9 * 700 * us);
    assert_int_equal(lateness.cause, WS_PART_INPUT);
    ranks_assert_advised(&job, 0, "straggler", WS_PART_EXPOSED_COMM, 10 * 700 * us);
    built_finish(&job);
}

/* Makes twenty marked steps of 2 ms. Rank 1 is late in `late` of every five steps. */
static void late_steps(struct built *job, int late)
{
    ranks_begin(job, 2, false);
    job->steps = WS_STEPS_ONLY_MARKED;
    for (uint32_t i = 0; i < 2; i++) {
        build_thread(job->traces[i], 1, 100, "python3");
        build_comm(job->traces[i], 1, i, 2, 77);
    }
    for (int64_t step = 0; step < 20; step++) {
        int64_t now = ms + step * 2 * ms, behind = step % 5 < late ? 300 * us : 0;
        for (size_t rank = 0; rank < 2; rank++) {
            build_range(job->traces[rank], WS_RANGE_STEP, 1, "ProfilerStep", now - 50 * us, now + 1900 * us);
            build_kernel(job->traces[rank], COMPUTE, GEMM, now, now + ms + (rank ? behind : 0));
            build_all_reduce(job->traces[rank], now + ms + (rank ? behind : 0), now + behind + 1200 * us);
        }
    }
    built_report(job);
}

static void a_straggler_is_late_in_half_of_the_steps(void **state)
{
    (void)state;
    for (int late = 2; late <= 3; late++) {
        struct built job;
        late_steps(&job, late);
        assert_int_equal(ranks_rank(&job, 1)->steps, 19); /* the trace does not show where the last step ends */
        assert_int_equal(ranks_rank(&job, 1)->late, 4 * late);
        assert_int_equal(ranks_rank(&job, 1)->late_steps, late == 2 ? 8 : 12);
        assert_int_equal(ranks_rank(&job, 1)->straggler, late == 3);
        if (late == 3) { /* the saving is an average over the 19 steps */
            int64_t saving = 12 * 300 * us / 19;
            ranks_assert_advised(&job, 0, "straggler", WS_PART_EXPOSED_COMM, saving);
        }
        built_finish(&job);
    }
}

/* If most ranks were not recorded, no rank is called late, because an unrecorded rank may be the latest. */
static void nobody_is_late_of_a_job_that_was_hardly_recorded(void **state)
{
    static const int64_t compute[] = { 400000, 900000 }, offset[2];
    struct built job;
    (void)state;
    for (int recorded = 0; recorded < 2; recorded++) {
        ranks_begin(&job, 2, false);
        build_meta(job.traces[0], "world_size", recorded ? "4" : "5");
        for (uint32_t i = 0; i < 2; i++)
            build_comm(job.traces[i], 1, i, 2, 77);
        ranks_rounds(&job, 10, compute, offset, 100 * us);
        built_report(&job);
        assert_int_equal(ranks_matches(&job)->largest, recorded ? 4 : 5);
        assert_int_equal(ranks_matches(&job)->stragglers, recorded);
        built_finish(&job);
    }
}

static void ranks_that_take_turns_are_no_stragglers(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 4, false);
    for (uint32_t i = 0; i < 4; i++)
        build_comm(job.traces[i], 1, i, 4, 77);
    for (int64_t round = 0; round < 12; round++)
        for (int64_t rank = 0; rank < 4; rank++)
            build_all_reduce(job.traces[(size_t)rank], round * ms + (round % 4 == rank ? 500 : 100) * us,
                             round * ms + 600 * us);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->stragglers, 0);
    assert_false(ws_report_slowest(job.report).is_late);
    for (size_t rank = 0; rank < 4; rank++) {
        assert_int_equal(ranks_rank(&job, rank)->late, 3);
        assert_int_equal(ranks_rank(&job, rank)->waited, 9 * 400 * us);
        assert_int_equal(ranks_cost(&job, rank)->caused_by_stragglers, 0);
    }
    built_finish(&job);
}

static void clocks_of_other_hosts_are_set(void **state)
{
    static const int64_t compute[] = { 400000, 700000, 500000 };
    static const int64_t offset[] = { 0, 50000000, -3000000 };
    struct built job;
    (void)state;
    ranks_begin(&job, 3, true);
    for (uint32_t i = 0; i < 3; i++)
        build_comm(job.traces[i], 1, i, 3, 77);
    ranks_rounds(&job, 10, compute, offset, 100 * us);
    built_report(&job);
    for (size_t rank = 1; rank < 3; rank++) {
        const struct ws_rank_clock *clock = &ranks_rank(&job, rank)->clock;
        assert_true(clock->applied);
        assert_false(clock->shared_host);
        assert_int_equal(clock->offset, offset[rank]);
        assert_int_equal(clock->spread, 0);
        assert_int_equal(clock->samples, 10);
    }
    assert_int_equal(ranks_rank(&job, 0)->waited, 10 * 300 * us);
    assert_int_equal(ranks_rank(&job, 1)->waited, 0);
    assert_int_equal(ranks_rank(&job, 2)->waited, 10 * 200 * us);
    assert_true(ranks_rank(&job, 1)->straggler);
    built_finish(&job);
}

/* The clock of a rank is not corrected if its offset is no larger than the spread of the offset's samples. Nor is it
 * corrected if the ranks share a host, because they have the same clock. */
static void small_offsets_are_left_alone(void **state)
{
    struct built job;
    (void)state;
    for (int own_hosts = 0; own_hosts < 2; own_hosts++) {
        ranks_begin(&job, 2, own_hosts);
        for (uint32_t i = 0; i < 2; i++)
            build_comm(job.traces[i], 1, i, 2, 77);
        for (int64_t round = 0; round < 20; round++) {
            int64_t end = round * ms + 500 * us;
            build_all_reduce(job.traces[0], round * ms, end);
            build_all_reduce(job.traces[1], round * ms, end + (own_hosts ? round % 5 * 15 * us : 200 * us));
        }
        built_report(&job);
        const struct ws_rank_clock *clock = &ranks_rank(&job, 1)->clock;
        assert_false(clock->applied);
        assert_int_equal(clock->offset, own_hosts ? 30 * us : 200 * us);
        assert_int_equal(clock->spread, own_hosts ? 30 * us : 0);
        assert_int_equal(ranks_rank(&job, 0)->waited, 0);
        built_finish(&job);
    }
}

static void a_clock_that_drifts_is_followed(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 2, true);
    for (uint32_t i = 0; i < 2; i++)
        build_comm(job.traces[i], 1, i, 2, 77);
    for (int64_t round = 0; round < 100; round++) { /* rank 1's clock gains 20 µs a second */
        int64_t now = round * 100 * ms, ahead = 5 * ms + round * 2 * us;
        build_all_reduce(job.traces[0], now, now + 500 * us);
        build_all_reduce(job.traces[1], now + ahead + 300 * us, now + ahead + 500 * us);
    }
    built_report(&job);
    const struct ws_rank_clock *clock = &ranks_rank(&job, 1)->clock;
    assert_true(clock->applied);
    assert_true(clock->drift > 19.9e-6 && clock->drift < 20.1e-6);
    assert_true(clock->spread < us);
    assert_in_range(ranks_rank(&job, 0)->waited, 100 * 299 * us, 100 * 301 * us);
    built_finish(&job);
}

/* A job with odd recordings: rank 1's recording is shorter, a second recording claims to be rank 1, and ranks 2 and 3
 * are missing. */
static void odd_jobs_are_told(void **state)
{
    static const char *const numbers[] = { "0", "1", "1" };
    struct built job;
    (void)state;
    ranks_begin_as(&job, 3, false, numbers);
    build_comm(job.traces[0], 1, 0, 4, 77);
    build_comm(job.traces[1], 1, 1, 4, 77);
    build_comm(job.traces[2], 1, 1, 4, 77);
    for (int64_t round = 0; round < 10; round++)
        for (size_t rank = 0; rank < 3; rank++)
            if (rank != 1 || round < 6)
                build_all_reduce(job.traces[rank], round * ms, round * ms + 300 * us);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->by_method[WS_MATCH_SEQUENCE], 6);
    assert_int_equal(ranks_matches(&job)->twice, 1);
    assert_false(ranks_rank(&job, 1)->twice);
    assert_true(ranks_rank(&job, 2)->twice);
    assert_int_equal(ranks_matches(&job)->largest, 4);
    assert_int_equal(ranks_matches(&job)->unmatched, 4 + 10);
    built_finish(&job);
}

/* In one round, the operations that have the same number on two ranks do not overlap in time. They count as "apart",
 * not as "found on one rank only". */
static void collectives_apart_are_not_told_as_those_of_one_rank(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 2, false);
    for (uint32_t i = 0; i < 2; i++)
        build_comm(job.traces[i], 1, i, 2, 77);
    for (int64_t round = 0; round < 6; round++) {
        int64_t now = (round + 1) * 20 * ms;
        build_all_reduce(job.traces[0], now, now + 300 * us);
        build_all_reduce(job.traces[1], now + (round == 3 ? 5 * ms : 0), now + 300 * us + (round == 3 ? 5 * ms : 0));
    }
    build_all_reduce(job.traces[0], 200 * ms, 201 * ms);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->apart, 1);
    assert_int_equal(ranks_matches(&job)->unmatched, 1);
    built_finish(&job);
}

/* From three samples or fewer of the offset between two ranks' clocks, no drift is computed. */
static void few_samples_show_no_drift(void **state)
{
    (void)state;
    for (int64_t rounds = 1; rounds < 4; rounds++) {
        struct built job;
        ranks_begin(&job, 2, true);
        for (uint32_t i = 0; i < 2; i++)
            build_comm(job.traces[i], 1, i, 2, 77);
        for (int64_t round = 1; round <= rounds; round++)
            for (size_t rank = 0; rank < 2; rank++) {
                int64_t begin = round * 2000 * ms + (rank ? round * ms : 0);
                build_all_reduce(job.traces[rank], begin, begin + 300 * us);
            }
        built_report(&job);
        assert_int_equal(ranks_rank(&job, 1)->clock.samples, rounds);
        assert_true(ranks_rank(&job, 1)->clock.drift == 0);
        built_finish(&job);
    }
}

static void a_rank_alone_waits_for_nobody_known(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 1, false);
    build_comm(job.traces[0], 1, 3, 8, 77);
    build_all_reduce(job.traces[0], ms, 2 * ms);
    built_report(&job);
    assert_int_equal(ranks_matches(&job)->joined.count, 0);
    assert_int_equal(ranks_cost(&job, 0)->all.matched, 0);
    assert_int_equal(ranks_cost(&job, 0)->all.total, ms);
    assert_int_equal(ranks_cost(&job, 0)->all.exposed, ms);
    built_finish(&job);
}

/* Communication that runs after the backward pass could run beside that pass, except for the last piece. If
 * communication already runs beside compute, there is nothing to save. */
static void only_what_could_be_hidden_is_promised(void **state)
{
    struct built job;
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        ranks_begin(&job, 1, false);
        build_comm(job.traces[0], 1, 0, 2, 77);
        for (int64_t round = 0; round < 5; round++) {
            int64_t now = round * 10 * ms;
            build_kernel(job.traces[0], COMPUTE, GEMM, now, now + 4 * ms);
            for (int64_t piece = 0; piece < 4; piece++) {
                int64_t begin = now + (hidden ? 1 : 4) * ms + piece * (hidden ? ms : 200 * us);
                build_all_reduce(job.traces[0], begin, begin + (hidden && piece < 3 ? ms : 200 * us));
            }
        }
        built_report(&job);
        assert_int_equal(ranks_cost(&job, 0)->hideable, hidden ? 0 : 5 * 3 * 200 * us);
        built_finish(&job);
    }
}

/* A forward and a backward pass, then the communication of the gradients in four pieces. All pieces but the last
 * could run beside compute. If a kernel's name shows where the backward pass begins, the pieces could run only beside
 * kernels after the first gradient. */
static void gradients_hide_under_what_makes_them(void **state)
{
    static const char *const first[] = { GEMM, "layer_norm_grad_input_kernel" };
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct built job;
        ranks_begin(&job, 1, false);
        job.steps = WS_STEPS_ONLY_MARKED;
        build_thread(job.traces[0], 1, 100, "python3");
        build_comm(job.traces[0], 1, 0, 2, 77);
        for (int64_t step = 0; step < 6; step++) {
            struct builder *trace = job.traces[0];
            int64_t now = ms + step * 20 * ms, at = now + 8 * ms;
            build_range(trace, WS_RANGE_STEP, 1, "ProfilerStep", now - 50 * us, now + 19 * ms);
            build_kernel(trace, COMPUTE, GEMM, now, now + 6 * ms);
            build_kernel(trace, COMPUTE, first[told], now + 6 * ms, now + 6 * ms + 400 * us);
            build_kernel(trace, COMPUTE, GEMM, now + 6 * ms + 400 * us, at);
            for (int64_t piece = 0; piece < 4; piece++)
                build_all_reduce(job.traces[0], at + piece * ms, at + (piece + 1) * ms);
        }
        built_report(&job);
        const char *evidence =
            ranks_assert_advised(&job, 0, "exposed_communication", WS_PART_EXPOSED_COMM, told ? 1500 * us : 3 * ms);
        assert_non_null(strstr(evidence, "4.00 ms a step outside compute"));
        assert_non_null(
            strstr(evidence, told ? "limited by the compute that can hide it" : "the last operation of each run"));
        built_finish(&job);
    }
}

/* In inference, the next layer needs the result of a collective, so no kernel can run beside the collective. */
static void inference_has_nothing_to_overlap_with(void **state)
{
    struct built job;
    (void)state;
    ranks_begin(&job, 1, false);
    build_comm(job.traces[0], 1, 0, 2, 77);
    for (int64_t layer = 0; layer < 20; layer++) {
        build_kernel(job.traces[0], COMPUTE, GEMM, layer * 2 * ms, layer * 2 * ms + ms / 2);
        build_kernel(job.traces[0], COMPUTE, "flash_fwd_kernel", layer * 2 * ms + ms / 2, layer * 2 * ms + ms);
        build_all_reduce(job.traces[0], layer * 2 * ms + ms, (layer + 1) * 2 * ms);
    }
    built_report(&job);
    const struct ws_track_wall *wall = ws_report_result(job.report, &ws_analysis_wall, 0);
    const struct ws_advice *advice = wall->advice.items.data;
    for (size_t i = 0; i < wall->advice.items.count; i++)
        assert_null(strstr(advice[i].what, "overlap communication"));
    built_finish(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_rank_is_named),
        cmocka_unit_test(a_slow_link_is_named),
        cmocka_unit_test(a_late_host_is_told_from_a_slow_device),
        cmocka_unit_test(a_straggler_is_late_in_half_of_the_steps),
        cmocka_unit_test(nobody_is_late_of_a_job_that_was_hardly_recorded),
        cmocka_unit_test(ranks_that_take_turns_are_no_stragglers),
        cmocka_unit_test(clocks_of_other_hosts_are_set),
        cmocka_unit_test(small_offsets_are_left_alone),
        cmocka_unit_test(a_clock_that_drifts_is_followed),
        cmocka_unit_test(odd_jobs_are_told),
        cmocka_unit_test(collectives_apart_are_not_told_as_those_of_one_rank),
        cmocka_unit_test(few_samples_show_no_drift),
        cmocka_unit_test(a_rank_alone_waits_for_nobody_known),
        cmocka_unit_test(only_what_could_be_hidden_is_promised),
        cmocka_unit_test(gradients_hide_under_what_makes_them),
        cmocka_unit_test(inference_has_nothing_to_overlap_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
