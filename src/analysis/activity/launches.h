/* How long launches waited for the device, and how long the device waited for launches. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_LAUNCHES_H
#define WALLSHIM_ANALYSIS_ACTIVITY_LAUNCHES_H

#include "base/vector.h"
#include "report/analysis.h"

struct ws_track_launches {
    struct ws_vector streams; /* struct ws_stream_delays, most launches first */
    uint64_t launches;        /* host calls that started work on the device */
    int64_t call_time;        /* ns that the host spent in launch calls, except calls that block */
    uint64_t blocking;        /* launches whose call blocked */
    uint64_t waited_for;      /* launches that an idle device waited for */
    int64_t waited_ns;        /* ns that the device was idle before the launches that it waited for */
};

/* Scope: track. */
extern const struct ws_analysis ws_analysis_launches;

/* defined in launches_report.c */
void ws_launches_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_launches_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
