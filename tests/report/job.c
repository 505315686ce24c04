#include "check.h"

#include "analysis/wall.h"
#include "job.h"

void job_begin_as(struct job *job, size_t count, bool own_hosts, const char *const *numbers)
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

void job_begin(struct job *job, size_t count, bool own_hosts)
{
    static const char *const numbers[MOST_RANKS] = { "0", "1", "2", "3", "4", "5", "6", "7" };
    job_begin_as(job, count, own_hosts, numbers);
}

void job_comm(struct job *job, size_t rank, uint32_t id, uint32_t number, uint32_t size, uint64_t hash)
{
    struct ws_comm comm = { .id = id, .rank = number, .size = size, .device = 1, .name_hash = hash };
    story_add(&job->stories[rank], WS_FAMILY_comm, &comm);
}

void job_call(struct job *job, size_t rank, const char *function, uint32_t comm, uint64_t sequence, uint64_t count,
              int64_t begin, int64_t end)
{
    struct story *story = &job->stories[rank];
    story_kernel(story, COMM, ALL_REDUCE, begin, end);
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

void job_all_reduce(struct job *job, size_t rank, int64_t begin, int64_t end)
{
    job_call(job, rank, "ncclAllReduce", 1, ++job->sequence[rank], 1000000, begin, end);
}

void job_report(struct job *job)
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
    ws_report_print(job->report, &page, NULL, 0);
    fclose(page.out);
}

void job_finish(struct job *job)
{
    ws_report_destroy(job->report);
    ws_model_destroy(job->model);
    for (size_t i = 0; i < job->count; i++)
        unlink(job->paths[i]);
}

const struct ws_job_comm *job_matches(const struct job *job)
{
    return ws_report_result(job->report, &ws_analysis_comm_match, 0);
}

const struct ws_rank *job_rank(const struct job *job, size_t track)
{
    return (const struct ws_rank *)job_matches(job)->ranks.data + track;
}

const struct ws_track_collectives *job_cost(const struct job *job, size_t track)
{
    return ws_report_result(job->report, &ws_analysis_collectives, track);
}

int64_t job_exposed_comm(const struct job *job, size_t track)
{
    return ((const struct ws_track_activity *)ws_report_result(job->report, &ws_analysis_activity, track))
        ->exposed_comm;
}

const char *job_assert_advised(const struct job *job, size_t track, const char *name, enum ws_part part,
                               int64_t saving)
{
    const struct ws_track_wall *wall = ws_report_result(job->report, &ws_analysis_wall, track);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t i = 0;
    while (i < wall->advice.items.count && strcmp(advice[i].name, name))
        i++;
    assert_true(i < wall->advice.items.count);
    assert_int_equal(advice[i].part, part);
    assert_int_equal(advice[i].saving_ns, saving);
    return advice[i].evidence;
}

void job_rounds(struct job *job, int count, const int64_t *compute, const int64_t *offset, int64_t transfer)
{
    int64_t now = ms;
    for (int round = 0; round < count; round++) {
        int64_t last = 0;
        for (size_t rank = 0; rank < job->count; rank++) {
            int64_t begin = now + offset[rank];
            story_kernel(&job->stories[rank], COMPUTE, GEMM, begin, begin + compute[rank]);
            last = compute[rank] > last ? compute[rank] : last;
        }
        for (size_t rank = 0; rank < job->count; rank++)
            job_all_reduce(job, rank, now + offset[rank] + compute[rank], now + offset[rank] + last + transfer);
        now += last + transfer + 20 * us;
    }
}
