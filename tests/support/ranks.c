#include "ranks.h"

#include "check.h"

#include "analysis/verdict/wall.h"

void ranks_begin_as(struct built *job, size_t count, bool own_hosts, const char *const *numbers)
{
    *job = (struct built){ .steps = WS_STEPS_NOT_ASKED };
    for (size_t i = 0; i < count; i++) {
        char host[32];
        struct builder *trace = built_add(job);
        build_meta(trace, "rank", numbers[i]);
        snprintf(host, sizeof(host), "node%zu", own_hosts ? i : 0);
        build_meta(trace, "host", host);
        build_device(trace, 1, "Test GPU", 0, 0);
        build_stream(trace, COMPUTE, 1);
        build_stream(trace, COMM, 1);
    }
}

void ranks_begin(struct built *job, size_t count, bool own_hosts)
{
    static const char *const numbers[BUILT_MOST] = { "0", "1", "2", "3", "4", "5", "6", "7" };
    ranks_begin_as(job, count, own_hosts, numbers);
}

void ranks_rounds(struct built *job, int count, const int64_t *compute, const int64_t *offset, int64_t transfer)
{
    int64_t now = ms;
    for (int round = 0; round < count; round++) {
        int64_t last = 0;
        for (size_t rank = 0; rank < job->count; rank++) {
            int64_t begin = now + offset[rank];
            build_kernel(job->traces[rank], COMPUTE, GEMM, begin, begin + compute[rank]);
            last = compute[rank] > last ? compute[rank] : last;
        }
        for (size_t rank = 0; rank < job->count; rank++)
            build_all_reduce(job->traces[rank], now + offset[rank] + compute[rank],
                             now + offset[rank] + last + transfer);
        now += last + transfer + 20 * us;
    }
}

const struct ws_job_comm *ranks_matches(const struct built *job)
{
    return built_result(job, &ws_analysis_comm_match, 0);
}

const struct ws_rank *ranks_rank(const struct built *job, size_t track)
{
    return (const struct ws_rank *)ranks_matches(job)->ranks.data + track;
}

const struct ws_track_collectives *ranks_cost(const struct built *job, size_t track)
{
    return built_result(job, &ws_analysis_collectives, track);
}

int64_t ranks_exposed_comm(const struct built *job, size_t track)
{
    return built_activity(job, track)->exposed_comm;
}

const char *ranks_assert_advised(const struct built *job, size_t track, const char *name, enum ws_part part,
                                 int64_t saving)
{
    const struct ws_track_wall *wall = built_result(job, &ws_analysis_wall, track);
    const struct ws_advice *advice = wall->advice.items.data;
    size_t i = 0;
    while (i < wall->advice.items.count && strcmp(advice[i].name, name))
        i++;
    assert_true(i < wall->advice.items.count);
    assert_int_equal(advice[i].part, part);
    assert_int_equal(advice[i].saving_ns, saving);
    return advice[i].evidence;
}
