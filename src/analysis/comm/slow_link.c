#include "analysis/comm/slow_link.h"

#include <stdio.h>

#include "analysis/activity/activity.h"
#include "analysis/comm/ranks.h"
#include "analysis/steps/steps.h"
#include "hardware/links.h"
#include "report/peaks.h"

/* A link is called slow if it reaches at most SLOW percent of its limit. Advice is given if transfers take at least
 * WORTH percent of a step. */
enum { SLOW = 2, WORTH = 5 };

struct slow_link {
    double reached;      /* bytes per ns of the fastest large operation; 0: not known */
    const char *by;      /* kind of the fastest large operation, such as "all-reduce" */
    double limit;        /* bytes per ns that the link can reach; 0: not known */
    const char *limiter; /* name of the link or network card whose bandwidth is `limit` */
};

static struct slow_link slow_link_of(const struct ws_report *report, size_t track)
{
    const struct ws_track_collectives *result = ws_report_result(report, &ws_analysis_collectives, track);
    const struct ws_job_ranks *ranks = ws_report_result(report, &ws_analysis_ranks, 0);
    const struct ws_comm_kind *kinds = ws_report_comm(report, track)->kinds.data;
    const struct ws_comm_cost *costs = result->costs.data;
    struct slow_link found = { .limit = WS_NETWORK_BYTES_PER_NS, .limiter = "a network card of 400 Gbit/s" };
    struct ws_gpu gpu;
    for (size_t i = 0; i < result->costs.count; i++)
        if (costs[i].fastest > found.reached) {
            found.reached = costs[i].fastest;
            found.by = ws_comm_name(kinds[i].operation);
        }
    /* If it is not known whether all ranks are on one machine, and the rank is faster than a network card, we assume
     * that its GPU has a direct link to other GPUs. */
    bool one_machine = ranks->hosts == 1 && ranks->recorded >= ws_ranks_job(report)->largest;
    if (!one_machine && (ranks->hosts > 1 || found.reached < found.limit))
        return found;
    bool known = ws_track_gpu(report, ws_model_track(report->model, track), &gpu) != WS_GPU_UNKNOWN;
    const struct ws_link *link = known ? ws_link_of(gpu.name) : NULL;
    found.limit = link ? link->bytes_per_ns : one_machine ? WS_PCIE_BYTES_PER_NS : 0;
    found.limiter = link ? link->name : "PCIe 4 with 16 lanes";
    return found;
}

void ws_slow_link_text(const struct ws_report *report, size_t track, struct ws_page *page)
{
    struct slow_link link = slow_link_of(report, track);
    char share[100] = "";
    if (!(link.reached > 0))
        return;
    if (link.limit > 0)
        snprintf(share, sizeof(share), ", %.0f %% of the %.3g GB/s of %s", 100 * link.reached / link.limit,
                 link.limit, link.limiter);
    ws_page_text(page, "The fastest %s of 1 MiB or more reached %.3g GB/s of bus bandwidth%s.", link.by, link.reached,
                 share);
}

int ws_slow_link_advise(const struct ws_report *report, size_t track, struct ws_advice_list *list)
{
    static char what[] =
        "find out why the link between ranks is slow: NCCL_DEBUG=INFO says what NCCL uses; look for peer "
        "access in one machine, and for InfiniBand or the right interface between machines";
    const struct ws_track_collectives *result = ws_report_result(report, &ws_analysis_collectives, track);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    const struct ws_track_activity *activity = ws_report_result(report, &ws_analysis_activity, track);
    struct slow_link link = slow_link_of(report, track);
    int64_t transfer = ws_comm_per_step(report, track, result->uncovered);
    int64_t step = steps->kinds[WS_STEP_STEADY] ? steps->mean : ws_activity_known(activity);
    char evidence[200];
    if (!(link.reached > 0) || link.reached * 100 > link.limit * SLOW || transfer < step / 100 * WORTH)
        return 0;
    snprintf(evidence, sizeof(evidence),
             "the fastest %s of 1 MiB or more reached %.3g GB/s of bus bandwidth, %.1f %% of the %.3g GB/s of %s",
             link.by, link.reached, 100 * link.reached / link.limit, link.limit, link.limiter);
    return ws_advice_add(
        list, &(struct ws_advice){ .name = "slow_link",
                                   .part = WS_PART_EXPOSED_COMM,
                                   .saving_ns = (int64_t)((double)transfer * (1 - link.reached / link.limit)),
                                   .what = what,
                                   .evidence = evidence,
                                   .track = (uint32_t)track });
}
