#include "analysis/comm/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/comm.h"

static int ranks_by_number(const void *a, const void *b, void *user)
{
    const struct ws_rank *ranks = user;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (ranks[x].number != ranks[y].number)
        return ranks[x].number < ranks[y].number ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int count_hosts(const struct ws_report *report, struct ws_job_ranks *result)
{
    const char **hosts = malloc((result->count + 1) * sizeof(*hosts));
    size_t count = 0;
    if (!hosts)
        return -ENOMEM;
    for (size_t i = 0; i < result->count; i++)
        if (*ws_ranks_host(report, result->order[i]))
            hosts[count++] = ws_ranks_host(report, result->order[i]);
    qsort(hosts, count, sizeof(*hosts), by_text);
    for (size_t i = 0; i < count; i++)
        result->hosts += !i || strcmp(hosts[i], hosts[i - 1]);
    free(hosts);
    return 0;
}

static int ranks_run(const struct ws_report *report, size_t subject, void *memory)
{
    struct ws_job_ranks *result = memory;
    (void)subject;
    result->order = malloc((report->model->tracks.count + 1) * sizeof(*result->order));
    if (!result->order)
        return -ENOMEM;
    for (uint32_t track = 0; track < report->model->tracks.count; track++)
        if (ws_model_track(report->model, track)->count) {
            result->order[result->count++] = track;
            result->recorded += !ws_ranks_at(report, track)->twice;
        }
    qsort_r(result->order, result->count, sizeof(*result->order), ranks_by_number, ws_ranks_job(report)->ranks.data);
    return count_hosts(report, result);
}

static void ranks_finish(void *memory)
{
    struct ws_job_ranks *result = memory;
    free(result->order);
}

const struct ws_analysis ws_analysis_ranks = {
    .name = "ranks",
    .title = "Ranks",
    .scope = WS_SCOPE_JOB,
    .result_size = sizeof(struct ws_job_ranks),
    .needs = { &ws_analysis_activity, &ws_analysis_comm_match, &ws_analysis_collectives },
    .run = ranks_run,
    .finish = ranks_finish,
    .text = ws_ranks_text,
    .json = ws_ranks_json,
};
