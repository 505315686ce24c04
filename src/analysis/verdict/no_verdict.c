#include "analysis/verdict/no_verdict.h"

#include <string.h>

#include "analysis/verdict/wall.h"

void ws_untimed_write(const struct ws_report *report, size_t track, const char *verb, char text[WS_UNTIMED_TEXT])
{
    const struct ws_track *of = ws_model_track(report->model, track);
    uint64_t untimed = of->untimed + of->backwards, all = of->count + untimed;
    char count[WS_FORMAT_SIZE], whole[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    *text = 0;
    if (untimed && of->count)
        snprintf(text, WS_UNTIMED_TEXT, "%s of %s%s%s (%s)", ws_format_count(count, untimed),
                 ws_format_count(whole, all), *verb ? " operations " : "", verb,
                 ws_format_share(share, (int64_t)untimed, (int64_t)all));
}

static bool lost_work(const struct ws_process *process)
{
    const struct ws_loss *rows = process->losses.data;
    for (size_t i = 0; i < process->losses.count; i++)
        if (rows[i].reason == WS_LOSS_NO_OPERATION && rows[i].count)
            return true;
    return false;
}

/* Returns why a trace from another profiler holds no device activity. Returns NULL if wallshim wrote the trace.
 * Another profiler records device activity only if the user told it to, if the system permits it, and if no second
 * profiler records device activity at the same time. */
static const char *why_no_imported(const struct ws_process *process)
{
    const char *import = ws_process_meta(process, "import");
    if (!import)
        return NULL;
    if (lost_work(process))
        return "the trace holds launch calls but no device activity: the profiler was not allowed "
               "to "
               "record it, or another profiler used the device";
    return !strncmp(import, "Nsight", 6) ? "the trace holds no device activity; nsys profile --trace=cuda records it"
                                         : "the trace holds no device activity; the PyTorch profiler records it with "
                                           "ProfilerActivity.CUDA";
}

/* Returns why the trace has no device at all. A trace file whose end is missing may lack the rows that describe
 * devices. */
static const char *why_no_device(const struct ws_report *report)
{
    for (size_t i = 0; i < report->model->processes.count; i++)
        if (ws_model_process(report->model, i)->damage.no_footer)
            return "the file was cut, and the rest holds no device activity";
    for (size_t i = 0; i < report->model->processes.count; i++) {
        const char *why = why_no_imported(ws_model_process(report->model, i));
        if (why)
            return why;
    }
    return "the trace names no device";
}

void ws_no_verdict_text(const struct ws_report *report, struct ws_page *page)
{
    size_t count = report->model->tracks.count;
    const struct ws_track_wall *wall = count ? ws_report_result(report, &ws_analysis_wall, 0) : NULL;
    char text[WS_UNTIMED_TEXT] = "";
    if (wall)
        ws_untimed_write(report, 0, "", text);
    ws_page_text(page, "No verdict: %s%s%s.", wall ? wall->why_none : why_no_device(report), *text ? ": " : "", text);
}
