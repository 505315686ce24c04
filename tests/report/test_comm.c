#include "check.h"

#include "analysis/comm.h"
#include "analysis/wall.h"
#include "load.h"

enum { MOST_RANKS = 8, COMPUTE = 1, COMM = 2 };

static const int64_t us = 1000, ms = 1000000;
static const char gemm[] = "ampere_sgemm_128x64_nn", gelu[] = "vectorized_elementwise_kernel<GeluCUDAKernelImpl>";
static const char all_reduce_kernel[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";

/* A trace for each rank of a job. */
struct job {
    size_t count;
    struct story stories[MOST_RANKS];
    char paths[MOST_RANKS][64];
    uint64_t sequence[MOST_RANKS];
    bool marked; /* steps are taken from the stories' markers; else there are none */
    struct ws_model *model;
    struct ws_report *report;
};

/* Each of the number it is given, on its own host where own_hosts says so. */
static void job_begin_as(struct job *job, size_t count, bool own_hosts, const char *const *numbers)
{
    memset(job, 0, sizeof(*job));
    job->count = count;
    for (size_t i = 0; i < count; i++) {
        char text[32];
        snprintf(job->paths[i], sizeof(job->paths[i]), "comm-%d-%zu.wst", (int)getpid(), i);
        unlink(job->paths[i]);
        struct story *story = &job->stories[i];
        story_begin(story, job->paths[i]);
        story_meta(story, "rank", numbers[i]);
        snprintf(text, sizeof(text), "node%zu", own_hosts ? i : 0);
        story_meta(story, "host", text);
        story_device(story, 1, "Test GPU", 0, 0);
        story_stream(story, COMPUTE, 1);
        story_stream(story, COMM, 1);
    }
}

static void job_begin(struct job *job, size_t count, bool own_hosts)
{
    static const char *const numbers[MOST_RANKS] = { "0", "1", "2", "3", "4", "5", "6", "7" };
    job_begin_as(job, count, own_hosts, numbers);
}

static void add_comm(struct job *job, size_t rank, uint32_t id, uint32_t number, uint32_t size, uint64_t hash)
{
    struct ws_comm comm = { .id = id, .rank = number, .size = size, .device = 1, .name_hash = hash };
    story_add(&job->stories[rank], WS_FAMILY_comm, &comm);
}

/* An NCCL call with one kernel. */
static void call(struct job *job, size_t rank, const char *function, uint32_t comm, uint64_t sequence, uint64_t count,
                 int64_t begin, int64_t end)
{
    struct story *story = &job->stories[rank];
    story_kernel(story, COMM, all_reduce_kernel, begin, end);
    uint64_t launch = (uint64_t)1 << 40 | story->launches;
    struct ws_collective row = { .function = story_driver_function(story, function, WS_CALL_NCCL),
                                 .thread = 1,
                                 .correlation = (uint64_t)1 << 40 | ++story->launches,
                                 .host_begin = begin - 10 * us,
                                 .host_end = begin - 5 * us,
                                 .comm = comm,
                                 .stream = COMM,
                                 .count = count,
                                 .datatype = 7,
                                 .peer = -1,
                                 .sequence = sequence,
                                 .first_launch = launch,
                                 .last_launch = launch };
    story_add(story, WS_FAMILY_collective, &row);
}

static void all_reduce(struct job *job, size_t rank, int64_t begin, int64_t end)
{
    call(job, rank, "ncclAllReduce", 1, ++job->sequence[rank], 1000000, begin, end);
}

static void job_report(struct job *job)
{
    const char *paths[MOST_RANKS];
    char message[256] = "";
    for (size_t i = 0; i < job->count; i++) {
        story_end(&job->stories[i]);
        paths[i] = job->paths[i];
    }
    if (ws_model_create(&job->model, paths, job->count, NULL, message, sizeof(message)))
        fail_msg("%s", message);
    const struct ws_report_options options = { .top = 20,
                                               .threads = 2,
                                               .steps = job->marked ? WS_STEPS_ONLY_MARKED : WS_STEPS_NOT_ASKED };
    assert_int_equal(ws_report_create(&job->report, job->model, &options), 0);
    /* Whatever a test asks, both forms of the report can be made of it. */
    json_t *json = ws_report_json(job->report);
    assert_non_null(json);
    json_decref(json);
    struct ws_page page = { .out = fopen("/dev/null", "w"), .width = 100 };
    assert_non_null(page.out);
    assert_int_equal(ws_report_print(job->report, &page, NULL), 0);
    fclose(page.out);
}

static void job_finish(struct job *job)
{
    ws_report_destroy(job->report);
    ws_model_destroy(job->model);
    for (size_t i = 0; i < job->count; i++)
        unlink(job->paths[i]);
}

static const struct ws_job_comm *matches(const struct job *job)
{
    return ws_report_result(job->report, &ws_analysis_comm_match, 0);
}

static const struct ws_rank *rank_of(const struct job *job, size_t track)
{
    return (const struct ws_rank *)matches(job)->ranks.data + track;
}

static const struct ws_track_collectives *cost_of(const struct job *job, size_t track)
{
    return ws_report_result(job->report, &ws_analysis_collectives, track);
}

static int64_t exposed_comm(const struct job *job, size_t track)
{
    return ((const struct ws_track_activity *)ws_report_result(job->report, &ws_analysis_activity, track))
        ->exposed_comm;
}

static void assert_advised(const struct job *job, size_t track, const char *name, enum ws_part part, int64_t saving)
{
    const struct ws_track_wall *wall = ws_report_result(job->report, &ws_analysis_wall, track);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t i = 0;
    while (i < wall->advice.items.count && strcmp(advice[i].name, name))
        i++;
    assert_true(i < wall->advice.items.count);
    assert_int_equal(advice[i].part, part);
    assert_int_equal(advice[i].saving_ns, saving);
}

/* Rounds in which each rank computes for a time of its own and then all reduce: the last to come has the others
 * wait, and the transfer takes as long for all. Each rank's clock is its offset ahead. */
static void rounds(struct job *job, int count, const int64_t *compute, const int64_t *offset, int64_t transfer)
{
    int64_t now = ms;
    for (int round = 0; round < count; round++) {
        int64_t last = 0;
        for (size_t rank = 0; rank < job->count; rank++) {
            int64_t begin = now + offset[rank];
            story_kernel(&job->stories[rank], COMPUTE, gemm, begin, begin + compute[rank]);
            last = compute[rank] > last ? compute[rank] : last;
        }
        for (size_t rank = 0; rank < job->count; rank++)
            all_reduce(job, rank, now + offset[rank] + compute[rank], now + offset[rank] + last + transfer);
        now += last + transfer + 20 * us;
    }
}

static void a_slow_rank_is_named(void **state)
{
    static const int64_t compute[] = { 400000, 400000, 900000, 400000 }, offset[4];
    struct job job;
    (void)state;
    job_begin(&job, 4, false);
    for (uint32_t i = 0; i < 4; i++)
        add_comm(&job, i, 1, i, 4, 77);
    rounds(&job, 10, compute, offset, 100 * us);
    job_report(&job);
    assert_int_equal(matches(&job)->by_method[WS_MATCH_SEQUENCE], 10);
    assert_int_equal(matches(&job)->unmatched, 0);
    assert_int_equal(matches(&job)->stragglers, 1);
    assert_true(rank_of(&job, 2)->straggler);
    assert_int_equal(rank_of(&job, 2)->number, 2);
    assert_int_equal(rank_of(&job, 2)->late, 10);
    assert_int_equal(rank_of(&job, 2)->waited, 0);
    assert_int_equal(rank_of(&job, 2)->caused, 3 * 10 * 500 * us);
    for (size_t rank = 0; rank < 4; rank++) {
        const struct ws_track_collectives *cost = cost_of(&job, rank);
        int64_t waits = rank == 2 ? 0 : 10 * 500 * us;
        assert_int_equal(cost->all.waited, waits);
        assert_int_equal(cost->all.exposed_wait, waits);
        assert_int_equal(cost->all.transfer, 10 * 100 * us);
        assert_int_equal(cost->all.matched_bytes, 10 * 4000000);
        assert_int_equal(cost->caused_by_stragglers, waits);
    }
    struct ws_lateness lateness = ws_lateness_of(job.report, 2);
    assert_int_equal(lateness.compute, 9 * 500 * us); /* the first collective begins the comparison */
    assert_int_equal(lateness.idle, 0);
    assert_true(lateness.same_kernels);
    /* Those that wait are told what they would win, and the late one what all would. */
    assert_advised(&job, 0, "straggler", WS_PART_EXPOSED_COMM, 10 * 500 * us);
    assert_advised(&job, 2, "straggler", WS_PART_MATMUL, 9 * 500 * us);
    job_finish(&job);
}

/* Whose host is late has its device idle instead. */
static void a_late_host_is_told_from_a_slow_device(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 2, false);
    for (uint32_t i = 0; i < 2; i++)
        add_comm(&job, i, 1, i, 2, 77);
    for (int64_t round = 0; round < 10; round++) {
        int64_t now = ms + round * 2 * ms;
        story_kernel(&job.stories[0], COMPUTE, gemm, now, now + 400 * us);
        story_range(&job.stories[1], WS_RANGE_ANNOTATION, 1, "enumerate(DataLoader)#_SingleProcess.__next__",
                    now - 700 * us, now + 680 * us);
        story_kernel(&job.stories[1], COMPUTE, gemm, now + 700 * us, now + 1100 * us);
        all_reduce(&job, 0, now + 400 * us, now + 1200 * us);
        all_reduce(&job, 1, now + 1100 * us, now + 1200 * us);
    }
    job_report(&job);
    assert_true(rank_of(&job, 1)->straggler);
    struct ws_lateness lateness = ws_lateness_of(job.report, 1);
    assert_int_equal(lateness.compute, 0);
    assert_int_equal(lateness.idle, 9 * 700 * us);
    assert_int_equal(lateness.cause, WS_PART_INPUT);
    assert_advised(&job, 0, "straggler", WS_PART_EXPOSED_COMM, 10 * 700 * us);
    job_finish(&job);
}

/* Twenty marked steps of 2 ms, in some of which rank 1 comes late. */
static void late_steps(struct job *job, int late)
{
    job_begin(job, 2, false);
    job->marked = true;
    for (uint32_t i = 0; i < 2; i++) {
        story_thread(&job->stories[i], 1, 100, "python3");
        add_comm(job, i, 1, i, 2, 77);
    }
    for (int64_t step = 0; step < 20; step++) {
        int64_t now = ms + step * 2 * ms, behind = step % 5 < late ? 300 * us : 0;
        for (size_t rank = 0; rank < 2; rank++) {
            story_range(&job->stories[rank], WS_RANGE_STEP, 1, "ProfilerStep", now - 50 * us, now + 1900 * us);
            story_kernel(&job->stories[rank], COMPUTE, gemm, now, now + ms + (rank ? behind : 0));
            all_reduce(job, rank, now + ms + (rank ? behind : 0), now + behind + 1200 * us);
        }
    }
    job_report(job);
}

static void a_straggler_is_late_in_half_of_the_steps(void **state)
{
    (void)state;
    for (int late = 2; late <= 3; late++) {
        struct job job;
        late_steps(&job, late);
        assert_int_equal(rank_of(&job, 1)->steps, 19); /* nothing shows where the last one ends */
        assert_int_equal(rank_of(&job, 1)->late, 4 * late);
        assert_int_equal(rank_of(&job, 1)->late_steps, late == 2 ? 8 : 12);
        assert_int_equal(rank_of(&job, 1)->straggler, late == 3);
        if (late == 3) { /* of a steady step */
            int64_t saving = 12 * 300 * us / 19;
            assert_advised(&job, 0, "straggler", WS_PART_EXPOSED_COMM, saving);
        }
        job_finish(&job);
    }
}

/* The last to come may be one of those that nobody recorded. */
static void nobody_is_late_of_a_job_that_was_hardly_recorded(void **state)
{
    static const int64_t compute[] = { 400000, 900000 }, offset[2];
    struct job job;
    (void)state;
    for (int recorded = 0; recorded < 2; recorded++) {
        job_begin(&job, 2, false);
        story_meta(&job.stories[0], "world_size", recorded ? "4" : "5");
        for (uint32_t i = 0; i < 2; i++)
            add_comm(&job, i, 1, i, 2, 77);
        rounds(&job, 10, compute, offset, 100 * us);
        job_report(&job);
        assert_int_equal(matches(&job)->largest, recorded ? 4 : 5);
        assert_int_equal(matches(&job)->stragglers, recorded);
        job_finish(&job);
    }
}

static void ranks_that_take_turns_are_no_stragglers(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 4, false);
    for (uint32_t i = 0; i < 4; i++)
        add_comm(&job, i, 1, i, 4, 77);
    for (int64_t round = 0; round < 12; round++)
        for (int64_t rank = 0; rank < 4; rank++)
            all_reduce(&job, (size_t)rank, round * ms + (round % 4 == rank ? 500 : 100) * us, round * ms + 600 * us);
    job_report(&job);
    assert_int_equal(matches(&job)->stragglers, 0);
    for (size_t rank = 0; rank < 4; rank++) {
        assert_int_equal(rank_of(&job, rank)->late, 3);
        assert_int_equal(rank_of(&job, rank)->waited, 9 * 400 * us);
        assert_int_equal(cost_of(&job, rank)->caused_by_stragglers, 0);
    }
    job_finish(&job);
}

static void clocks_of_other_hosts_are_set(void **state)
{
    static const int64_t compute[] = { 400000, 700000, 500000 };
    static const int64_t offset[] = { 0, 50000000, -3000000 };
    struct job job;
    (void)state;
    job_begin(&job, 3, true);
    for (uint32_t i = 0; i < 3; i++)
        add_comm(&job, i, 1, i, 3, 77);
    rounds(&job, 10, compute, offset, 100 * us);
    job_report(&job);
    for (size_t rank = 1; rank < 3; rank++) {
        const struct ws_rank_clock *clock = &rank_of(&job, rank)->clock;
        assert_true(clock->applied);
        assert_false(clock->shared_host);
        assert_int_equal(clock->offset, offset[rank]);
        assert_int_equal(clock->spread, 0);
        assert_int_equal(clock->samples, 10);
    }
    assert_int_equal(rank_of(&job, 0)->waited, 10 * 300 * us);
    assert_int_equal(rank_of(&job, 1)->waited, 0);
    assert_int_equal(rank_of(&job, 2)->waited, 10 * 200 * us);
    assert_true(rank_of(&job, 1)->straggler);
    job_finish(&job);
}

/* Ends that differ by more than the clocks seem to: nothing is set; nor is what one host's clock says of itself. */
static void small_offsets_are_left_alone(void **state)
{
    struct job job;
    (void)state;
    for (int own_hosts = 0; own_hosts < 2; own_hosts++) {
        job_begin(&job, 2, own_hosts);
        for (uint32_t i = 0; i < 2; i++)
            add_comm(&job, i, 1, i, 2, 77);
        for (int64_t round = 0; round < 20; round++) {
            int64_t end = round * ms + 500 * us;
            all_reduce(&job, 0, round * ms, end);
            all_reduce(&job, 1, round * ms, end + (own_hosts ? round % 5 * 15 * us : 200 * us));
        }
        job_report(&job);
        const struct ws_rank_clock *clock = &rank_of(&job, 1)->clock;
        assert_false(clock->applied);
        assert_int_equal(clock->offset, own_hosts ? 30 * us : 200 * us);
        assert_int_equal(clock->spread, own_hosts ? 30 * us : 0);
        assert_int_equal(rank_of(&job, 0)->waited, 0);
        job_finish(&job);
    }
}

static void a_clock_that_drifts_is_followed(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 2, true);
    for (uint32_t i = 0; i < 2; i++)
        add_comm(&job, i, 1, i, 2, 77);
    for (int64_t round = 0; round < 100; round++) { /* 20 µs a second */
        int64_t now = round * 100 * ms, ahead = 5 * ms + round * 2 * us;
        all_reduce(&job, 0, now, now + 500 * us);
        all_reduce(&job, 1, now + ahead + 300 * us, now + ahead + 500 * us);
    }
    job_report(&job);
    const struct ws_rank_clock *clock = &rank_of(&job, 1)->clock;
    assert_true(clock->applied);
    assert_true(clock->drift > 19.9e-6 && clock->drift < 20.1e-6);
    assert_true(clock->spread < us);
    assert_in_range(rank_of(&job, 0)->waited, 100 * 299 * us, 100 * 301 * us);
    job_finish(&job);
}

/* Traces without calls: the n-th kernel of a name on each rank. */
static void kernels_are_matched_by_order(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 3, false);
    for (int64_t round = 0; round < 10; round++)
        for (int64_t rank = 0; rank < 3; rank++)
            story_kernel(&job.stories[rank], COMM, all_reduce_kernel, round * ms + rank * 50 * us,
                         round * ms + 300 * us + rank * us);
    job_report(&job);
    assert_int_equal(matches(&job)->by_method[WS_MATCH_ORDER], 10);
    assert_int_equal(matches(&job)->unmatched, 0);
    assert_int_equal(rank_of(&job, 0)->waited, 10 * 100 * us);
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
                story_kernel(&job.stories[rank], COMM, all_reduce_kernel, round * ms + rank * 50 * us,
                             round * ms + 300 * us);
    job_report(&job);
    assert_int_equal(matches(&job)->by_method[WS_MATCH_TIME], 8);
    assert_int_equal(matches(&job)->unmatched, 2);
    assert_int_equal(rank_of(&job, 0)->matched, 8);
    assert_int_equal(rank_of(&job, 0)->waited, 8 * 50 * us);
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
            story_kernel(&job.stories[rank], COMM, all_reduce_kernel, round * ms + rank * (round * 70) * us,
                         round * ms + (200 + rank * (round * 75 + 70)) * us);
    job_report(&job);
    assert_int_equal(matches(&job)->by_method[WS_MATCH_ORDER], 0);
    assert_true(matches(&job)->unmatched >= 18);
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
            call(&job, rank, gather_first ? "ncclAllGather" : "ncclAllReduce", 9, 0, 10, now, now + 100 * us);
            call(&job, rank, gather_first ? "ncclAllReduce" : "ncclAllGather", 9, 0, 10, now + 10 * us,
                 now + 100 * us);
        }
    job_report(&job);
    assert_int_equal(matches(&job)->by_method[WS_MATCH_ORDER], 20);
    assert_int_equal(matches(&job)->unmatched, 0);
    assert_int_equal(cost_of(&job, 0)->all.matched, 20);
    job_finish(&job);
}

/* Sends and receives are numbered with the rest, but not alike on every rank. */
static void point_to_point_does_not_shift_the_numbers(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 2, false);
    for (uint32_t i = 0; i < 2; i++)
        add_comm(&job, i, 1, i, 2, 77);
    for (int64_t round = 0; round < 5; round++) {
        call(&job, 0, "ncclSend", 1, ++job.sequence[0], 10, round * ms, round * ms + 10 * us);
        for (size_t rank = 0; rank < 2; rank++)
            all_reduce(&job, rank, round * ms + 100 * us, round * ms + 300 * us);
    }
    call(&job, 1, "ncclRecv", 1, ++job.sequence[1], 10, 9 * ms, 9 * ms + 10 * us);
    job_report(&job);
    assert_int_equal(matches(&job)->by_method[WS_MATCH_SEQUENCE], 5);
    assert_int_equal(matches(&job)->unmatched, 0);
    job_finish(&job);
}

/* Two communicators of one size, in which ranks have other numbers than in the job. */
static void communicators_are_kept_apart(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 4, false);
    for (uint32_t i = 0; i < 4; i++)
        add_comm(&job, i, 1, i % 2, 2, 100 + i / 2);
    for (int64_t round = 0; round < 5; round++)
        for (size_t rank = 0; rank < 4; rank++)
            all_reduce(&job, rank, round * ms + (rank == 3 ? 200 : 100) * us, round * ms + 300 * us);
    job_report(&job);
    assert_int_equal(matches(&job)->by_method[WS_MATCH_SEQUENCE], 10);
    assert_int_equal(rank_of(&job, 0)->waited, 0);
    assert_int_equal(rank_of(&job, 2)->waited, 5 * 100 * us);
    assert_int_equal(rank_of(&job, 3)->number, 3);
    job_finish(&job);
}

/* A recording that is shorter, one that comes twice, and one that is not there. */
static void odd_jobs_are_told(void **state)
{
    static const char *const numbers[] = { "0", "1", "1" };
    struct job job;
    (void)state;
    job_begin_as(&job, 3, false, numbers);
    add_comm(&job, 0, 1, 0, 4, 77);
    add_comm(&job, 1, 1, 1, 4, 77);
    add_comm(&job, 2, 1, 1, 4, 77);
    for (int64_t round = 0; round < 10; round++)
        for (size_t rank = 0; rank < 3; rank++)
            if (rank != 1 || round < 6)
                all_reduce(&job, rank, round * ms, round * ms + 300 * us);
    job_report(&job);
    assert_int_equal(matches(&job)->by_method[WS_MATCH_SEQUENCE], 6);
    assert_int_equal(matches(&job)->twice, 1);
    assert_false(rank_of(&job, 1)->twice);
    assert_true(rank_of(&job, 2)->twice);
    assert_int_equal(matches(&job)->largest, 4);
    assert_int_equal(matches(&job)->unmatched, 4 + 10);
    job_finish(&job);
}

static void a_rank_alone_waits_for_nobody_known(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 1, false);
    add_comm(&job, 0, 1, 3, 8, 77);
    all_reduce(&job, 0, ms, 2 * ms);
    job_report(&job);
    assert_int_equal(matches(&job)->joined.count, 0);
    assert_int_equal(cost_of(&job, 0)->all.matched, 0);
    assert_int_equal(cost_of(&job, 0)->all.total, ms);
    assert_int_equal(cost_of(&job, 0)->all.exposed, ms);
    job_finish(&job);
}

/* Calls of one group have its launches together. */
static void a_group_is_one_operation(void **state)
{
    struct job job;
    (void)state;
    job_begin(&job, 1, false);
    struct story *story = &job.stories[0];
    add_comm(&job, 0, 1, 0, 2, 77);
    story_kernel(story, COMM, all_reduce_kernel, ms, 2 * ms);
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
    assert_int_equal(cost_of(&job, 0)->all.total, ms);
    job_finish(&job);
}

/* Communication behind the backward pass could run beside it, all but its last piece; what runs beside it already
 * leaves nothing to win. */
static void only_what_could_be_hidden_is_promised(void **state)
{
    struct job job;
    (void)state;
    for (int hidden = 0; hidden < 2; hidden++) {
        job_begin(&job, 1, false);
        add_comm(&job, 0, 1, 0, 2, 77);
        for (int64_t round = 0; round < 5; round++) {
            int64_t now = round * 10 * ms;
            story_kernel(&job.stories[0], COMPUTE, gemm, now, now + 4 * ms);
            for (int64_t piece = 0; piece < 4; piece++) {
                int64_t begin = now + (hidden ? 1 : 4) * ms + piece * (hidden ? ms : 200 * us);
                all_reduce(&job, 0, begin, begin + (hidden && piece < 3 ? ms : 200 * us));
            }
        }
        job_report(&job);
        assert_int_equal(cost_of(&job, 0)->hideable, hidden ? 0 : 5 * 3 * 200 * us);
        job_finish(&job);
    }
}

/* A forward and a backward pass, and then the gradients in four pieces: all but the last could run beside compute,
 * but only beside that of the backward pass which is left when the first is there. */
static void gradients_hide_under_what_makes_them(void **state)
{
    static const char *const first[] = { gemm, "layer_norm_grad_input_kernel" };
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct job job;
        job_begin(&job, 1, false);
        job.marked = true;
        story_thread(&job.stories[0], 1, 100, "python3");
        add_comm(&job, 0, 1, 0, 2, 77);
        for (int64_t step = 0; step < 6; step++) {
            struct story *story = &job.stories[0];
            int64_t now = ms + step * 20 * ms, at = now + 8 * ms;
            story_range(story, WS_RANGE_STEP, 1, "ProfilerStep", now - 50 * us, now + 19 * ms);
            story_kernel(story, COMPUTE, gemm, now, now + 6 * ms);
            story_kernel(story, COMPUTE, first[told], now + 6 * ms, now + 6 * ms + 400 * us);
            story_kernel(story, COMPUTE, gemm, now + 6 * ms + 400 * us, at);
            for (int64_t piece = 0; piece < 4; piece++)
                all_reduce(&job, 0, at + piece * ms, at + (piece + 1) * ms);
        }
        job_report(&job);
        assert_advised(&job, 0, "exposed_communication", WS_PART_EXPOSED_COMM, told ? 1500 * us : 3 * ms);
        job_finish(&job);
    }
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
            add_comm(&job, i, 1, i, 2, 77);
        for (int i = 0; i < 100; i++) {
            size_t rank = next_random(&random) % 2;
            int64_t begin = (int64_t)(next_random(&random) % 100000);
            int64_t end = begin + (int64_t)(next_random(&random) % 4000);
            switch (next_random(&random) % 4) {
            case 0:
                all_reduce(&job, rank, begin, end);
                break;
            case 1:
                story_kernel(&job.stories[rank], COMM, all_reduce_kernel, begin, end);
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
            const struct ws_track_collectives *cost = cost_of(&job, track);
            const struct ws_track_activity *activity = ws_report_result(job.report, &ws_analysis_activity, track);
            assert_int_equal(cost->all.exposed, exposed_comm(&job, track));
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
            add_comm(&job, i, 1, i, 3, 77);
        for (int64_t round = 0; round < 40; round++)
            for (size_t rank = 0; rank < 3; rank++) {
                int64_t begin = rank == 1 ? most - 100 + round : rank == 2 ? -most : round;
                int64_t end = rank == 1 ? most : rank == 2 ? most - round : 1000;
                if (calls)
                    all_reduce(&job, rank, begin, end);
                else
                    story_kernel(&job.stories[rank], COMM, all_reduce_kernel, begin, end);
            }
        job_report(&job);
        assert_true(rank_of(&job, 2)->waited >= 0);
        assert_true(cost_of(&job, 2)->all.total > 0);
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
        add_comm(&job, i, 1, UINT32_MAX, UINT32_MAX, 77);
        call(&job, i, "ncclAllReduce", 1, UINT64_MAX, UINT64_MAX, ms, 2 * ms);
        call(&job, i, "ncclAllGather", 1, UINT64_MAX, UINT64_MAX / 3, 3 * ms, 4 * ms);
        call(&job, i, "ncclAllReduce", 99, 1, 1, 5 * ms, 6 * ms);
        call(&job, i, "no such function", 1, 1, 1, 7 * ms, 8 * ms);
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
        cmocka_unit_test(a_slow_rank_is_named),
        cmocka_unit_test(a_late_host_is_told_from_a_slow_device),
        cmocka_unit_test(a_straggler_is_late_in_half_of_the_steps),
        cmocka_unit_test(nobody_is_late_of_a_job_that_was_hardly_recorded),
        cmocka_unit_test(calls_of_unknown_communicators_are_matched_by_order),
        cmocka_unit_test(ranks_that_take_turns_are_no_stragglers),
        cmocka_unit_test(clocks_of_other_hosts_are_set),
        cmocka_unit_test(small_offsets_are_left_alone),
        cmocka_unit_test(a_clock_that_drifts_is_followed),
        cmocka_unit_test(kernels_are_matched_by_order),
        cmocka_unit_test(kernels_that_are_not_as_many_are_matched_by_time),
        cmocka_unit_test(kernels_that_do_not_end_together_are_not_matched),
        cmocka_unit_test(point_to_point_does_not_shift_the_numbers),
        cmocka_unit_test(communicators_are_kept_apart),
        cmocka_unit_test(odd_jobs_are_told),
        cmocka_unit_test(a_rank_alone_waits_for_nobody_known),
        cmocka_unit_test(a_group_is_one_operation),
        cmocka_unit_test(only_what_could_be_hidden_is_promised),
        cmocka_unit_test(gradients_hide_under_what_makes_them),
        cmocka_unit_test(exposed_times_add_up),
        cmocka_unit_test(times_beyond_measure_do_no_harm),
        cmocka_unit_test(rows_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
