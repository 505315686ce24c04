#include "analysis/activity/activity.h"

#include <errno.h>
#include <string.h>

#include "base/minmax.h"

static void share_fact(struct ws_page *page, const char *label, int64_t part, int64_t whole, const char *note)
{
    char time[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    ws_page_fact(page, label, "%s  %s%s", ws_format_time(time, part), ws_format_share(share, part, whole), note);
}

static void print_completeness(const struct ws_track *track, const struct ws_track_activity *result,
                               struct ws_page *page)
{
    char count[WS_FORMAT_SIZE], share[WS_FORMAT_SIZE];
    uint64_t ran = track->count + track->untimed + track->backwards;
    if (track->untimed + track->backwards)
        ws_page_fact(page, "incomplete",
                     "%s of the operations (%s) have no device time, so busy is a lower limit "
                     "and idle an upper one",
                     ws_format_count(count, track->untimed + track->backwards),
                     ws_format_share(share, (int64_t)(track->untimed + track->backwards), (int64_t)ran));
    uint64_t times =
        result->quality[WS_TIME_MEASURED] + result->quality[WS_TIME_BOUNDED] + result->quality[WS_TIME_INFERRED];
    char measured[WS_FORMAT_SIZE], bounded[WS_FORMAT_SIZE], inferred[WS_FORMAT_SIZE];
    if (times)
        ws_page_fact(page, "times", "%s measured, %s bounded, %s inferred",
                     ws_format_share(measured, (int64_t)result->quality[WS_TIME_MEASURED], (int64_t)times),
                     ws_format_share(bounded, (int64_t)result->quality[WS_TIME_BOUNDED], (int64_t)times),
                     ws_format_share(inferred, (int64_t)result->quality[WS_TIME_INFERRED], (int64_t)times));
}

void ws_activity_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *result = memory;
    int64_t known = ws_activity_known(result);
    char least_share[WS_FORMAT_SIZE], most_share[WS_FORMAT_SIZE], time[WS_FORMAT_SIZE], note[128];
    if (!track->count) {
        if (track->untimed + track->backwards)
            ws_page_text(page,
                         "%s operations ran here, but the trace holds no device times for them: what the "
                         "device did is not known.",
                         ws_format_count(time, track->untimed + track->backwards));
        else
            ws_page_text(page, "No operation on this device is in the trace.");
        return;
    }
    snprintf(note, sizeof(note), "  of %s", ws_format_time(time, known));
    if (result->busy_least != result->busy || result->busy_most != result->busy)
        snprintf(note, sizeof(note), "  of %s; between %s and %s, since times have errors", time,
                 ws_format_share(least_share, result->busy_least, known),
                 ws_format_share(most_share, ws_min(result->busy_most, known), known));
    if (result->unrecorded)
        share_fact(page, "not recorded", result->unrecorded, result->span,
                   ws_process_meta(ws_model_process(report->model, track->process), "import")
                       ? " of the span, while work from before the recording ran; the other figures leave it out"
                       : " of the span: recording was off or paused, as the last section says; the other figures "
                         "leave it out");
    share_fact(page, "busy", result->busy, known, note);
    share_fact(page, "idle", result->idle, known, "");
    share_fact(page, "compute", result->group[WS_GROUP_COMPUTE], known, "");
    share_fact(page, "communication", result->group[WS_GROUP_COMM], known, "");
    if (result->group[WS_GROUP_COMM]) {
        share_fact(page, "  overlapped", result->comm_overlap, result->group[WS_GROUP_COMM], " of it, under compute");
        share_fact(page, "  exposed", result->exposed_comm, result->group[WS_GROUP_COMM], " of it");
    }
    share_fact(page, "memory", result->group[WS_GROUP_MEMORY], known, "  copies and memsets");
    if (result->group[WS_GROUP_MEMORY])
        share_fact(page, "  exposed", result->exposed_memory, result->group[WS_GROUP_MEMORY],
                   " of it, outside compute and communication");
    print_completeness(track, result, page);
}

int ws_activity_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object)
{
    const struct ws_track *track = ws_model_track(report->model, subject);
    const struct ws_track_activity *result = memory;
    int64_t error = ws_max(result->busy - result->busy_least, result->busy_most - result->busy);
    const struct {
        const char *key;
        int64_t value;
    } values[] = {
        { "gpu_events", (int64_t)track->count },
        { "untimed_events", (int64_t)(track->untimed + track->backwards) },
        { "begin_ns", result->begin },
        { "span_ns", result->span },
        { "busy_ns", result->busy },
        { "busy_error_ns", error },
        { "idle_ns", result->idle },
        { "unrecorded_ns", result->unrecorded },
        { "compute_ns", result->group[WS_GROUP_COMPUTE] },
        { "comm_ns", result->group[WS_GROUP_COMM] },
        { "memory_ns", result->group[WS_GROUP_MEMORY] },
        { "comm_overlap_ns", result->comm_overlap },
        { "exposed_comm_ns", result->exposed_comm },
        { "exposed_memory_ns", result->exposed_memory },
        { "clock_error_ns", track->clock_error },
        { "times_measured", (int64_t)result->quality[WS_TIME_MEASURED] },
        { "times_bounded", (int64_t)result->quality[WS_TIME_BOUNDED] },
        { "times_inferred", (int64_t)result->quality[WS_TIME_INFERRED] },
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (ws_json_set(object, values[i].key, values[i].value))
            return -ENOMEM;
    return json_object_set_new(object, "complete", json_boolean(!track->untimed && !track->backwards)) ? -ENOMEM : 0;
}
