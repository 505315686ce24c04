/* Compares the ranks of a job. */
#ifndef WALLSHIM_ANALYSIS_COMM_RANKS_H
#define WALLSHIM_ANALYSIS_COMM_RANKS_H

#include "analysis/comm/comm.h"

struct ws_job_ranks {
    uint32_t *order; /* indices of the tracks with operations, sorted by the rank's number */
    size_t count;
    size_t recorded; /* number of distinct ranks of the tracks in `order` */
    size_t hosts;    /* number of distinct host names of the tracks in `order` */
};

static inline const struct ws_job_comm *ws_ranks_job(const struct ws_report *report)
{
    return ws_report_result(report, &ws_analysis_comm_match, 0);
}

static inline const struct ws_rank *ws_ranks_at(const struct ws_report *report, uint32_t track)
{
    return (const struct ws_rank *)ws_ranks_job(report)->ranks.data + track;
}

static inline const struct ws_process *ws_ranks_process(const struct ws_report *report, uint32_t track)
{
    return ws_model_process(report->model, ws_model_track(report->model, track)->process);
}

static inline const char *ws_ranks_host(const struct ws_report *report, uint32_t track)
{
    const char *host = ws_process_meta(ws_ranks_process(report, track), "host");
    return host ? host : "";
}

/* defined in ranks_report.c */
void ws_ranks_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_ranks_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
