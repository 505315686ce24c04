#include "analysis/verdict/missing.h"

#include <stdio.h>

#include "analysis/activity/activity.h"
#include "analysis/activity/recorded.h"
#include "analysis/comm/ranks.h"
#include "analysis/gaps/gaps.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/wall_text.h"

/* The report mentions missing data only above these limits, because less missing data could hardly change a verdict.
 * TIME_SHOWN: time that was not recorded, in percent of a step. OPERATIONS_SHOWN: operations and launches that were
 * recorded only in part, in percent of all operations. COMMUNICATION_SHOWN: the report tells how many ranks were not
 * recorded if communication takes more than this percentage of a step. The limits are our choice. */
enum { TIME_SHOWN = 1, OPERATIONS_SHOWN = 10, COMMUNICATION_SHOWN = 5 };

enum { LACKS_TEXT = 240 };

/* Writes which operations the trace lacks in the time that was not recorded. The text calls this time "it": ". For
 * 112 ms of it, kernels of CUDA graphs are missing (70 graph launches)". */
static void write_lacks(const struct ws_report *report, size_t track, char text[LACKS_TEXT])
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, track);
    const struct ws_track_steps *steps = ws_report_result(report, &ws_analysis_steps, track);
    const struct ws_process_recorded *recorded =
        ws_report_result(report, &ws_analysis_recorded, ws_model_track(report->model, track)->process);
    int64_t time = ws_gap_time(causes, &causes->in_graphs);
    char of_it[WS_FORMAT_SIZE], count[WS_FORMAT_SIZE];
    size_t used = 0;
    *text = 0;
    if (time > 0)
        used = (size_t)snprintf(
            text, LACKS_TEXT, ". For %s of it, kernels of CUDA graphs are missing (%s graph launch%s)",
            ws_format_time(of_it, causes->per_step ? ws_steps_share(steps, time) : time),
            ws_format_count(count, causes->graph_launches), causes->graph_launches == 1 ? "" : "es");
    if (recorded->alone.count)
        snprintf(text + used, LACKS_TEXT - used, ". %s launch%s in the trace without what they launched",
                 ws_format_count(count, recorded->alone.count), recorded->alone.count == 1 ? " is" : "es are");
}

void ws_missing_reason(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                       char reason[WS_REASON_TEXT])
{
    const struct ws_track_causes *causes = ws_report_result(report, &ws_analysis_causes, track);
    char time[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE], lacks[LACKS_TEXT];
    *reason = 0;
    if (causes->is_sampled) {
        snprintf(reason, WS_REASON_TEXT,
                 "the trace holds only a sample of the operations, about 1 call in %u. Time without recorded "
                 "operations is not known to be idle",
                 causes->apart);
    } else if (wall->parts[WS_PART_UNRECORDED] > wall->by_wall[wall->wall]) {
        write_lacks(report, track, lacks);
        snprintf(reason, WS_REASON_TEXT,
                 "the trace lacks work. In %s of the %s of %s it shows nothing that ran, although work was queued%s",
                 ws_format_time(time, wall->parts[WS_PART_UNRECORDED]), ws_format_time(whole, wall->length),
                 ws_wall_judged(wall), lacks);
    }
}

/* Prints how much time of a step was not recorded, if there is a verdict on the rest of the step. */
static void print_time(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                       struct ws_page *page)
{
    char time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE], lacks[LACKS_TEXT];
    int64_t unrecorded = wall->parts[WS_PART_UNRECORDED];
    if (!wall->wall || unrecorded <= wall->length / 100 * TIME_SHOWN)
        return;
    write_lacks(report, track, lacks);
    ws_page_fact(page, "not recorded",
                 "%s of %s (%s): the trace shows nothing that ran, although work was queued%s. The verdict is on the "
                 "rest",
                 ws_format_time(time, unrecorded), ws_wall_judged(wall),
                 ws_format_share(share, unrecorded, wall->length), lacks);
}

/* Prints the duration of the time at the start of the recording in which the GPU still ran work launched before the
 * recording. No figure includes this time. */
static void print_lead_in(const struct ws_track_activity *activity, struct ws_page *page)
{
    char time[WS_FORMAT_SIZE];
    if (activity->unrecorded)
        ws_page_fact(page, "left out", "%s at the beginning: the GPU still ran work from before the recording",
                     ws_format_time(time, activity->unrecorded));
}

/* Prints how many of the job's ranks were recorded, if some were not. Does so only if communication takes a large
 * enough part of a step (COMMUNICATION_SHOWN), because only then can waits for the other ranks change the verdict. */
static void print_ranks(const struct ws_report *report, const struct ws_track_wall *wall, struct ws_page *page)
{
    const struct ws_job_ranks *ranks = ws_report_result(report, &ws_analysis_ranks, 0);
    uint32_t all = ws_ranks_job(report)->largest;
    if (ranks->recorded && all > ranks->recorded &&
        wall->by_wall[WS_WALL_COMMUNICATION] > wall->length / 100 * COMMUNICATION_SHOWN)
        ws_page_fact(page, "ranks",
                     "%zu of %u recorded: communication may be waiting for one of the others; record all of them",
                     ranks->recorded, all);
}

static bool is_much(uint64_t part, uint64_t whole)
{
    return part && part >= whole / 100 * OPERATIONS_SHOWN;
}

void ws_missing_text(const struct ws_report *report, size_t track, const struct ws_track_wall *wall,
                     struct ws_page *page)
{
    size_t subject = ws_model_track(report->model, track)->process;
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_process_recorded *recorded = ws_report_result(report, &ws_analysis_recorded, subject);
    char count[WS_FORMAT_SIZE];
    uint64_t alone = recorded->alone.count;
    print_time(report, track, wall, page);
    print_ranks(report, wall, page);
    if (!ws_process_meta(process, "import"))
        return;
    print_lead_in(ws_report_result(report, &ws_analysis_activity, track), page);
    if (is_much(alone, process->ops.count))
        ws_page_fact(page, "half recorded", "%s launch%s without what they launched", ws_format_count(count, alone),
                     alone == 1 ? "" : "es");
}

void ws_missing_before_text(const struct ws_report *report, size_t track, struct ws_page *page)
{
    size_t subject = ws_model_track(report->model, track)->process;
    const struct ws_process *process = ws_model_process(report->model, subject);
    const struct ws_process_recorded *recorded = ws_report_result(report, &ws_analysis_recorded, subject);
    char count[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE];
    if (ws_process_meta(process, "import") && is_much(recorded->before, process->ops.count))
        ws_page_fact(page, "from before", "%s of %s operations were launched before the recording began",
                     ws_format_count(count, recorded->before), ws_format_count(whole, process->ops.count));
}

bool ws_missing_needs_recording(const struct ws_report *report, size_t track, const struct ws_track_wall *wall)
{
    return *wall->reason &&
           ws_process_meta(ws_model_process(report->model, ws_model_track(report->model, track)->process), "import");
}
