/* How long launches waited for the device, and how long the device waited for launches. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_LAUNCHES_H
#define WALLSHIM_ANALYSIS_ACTIVITY_LAUNCHES_H

#include "base/vector.h"
#include "report/analysis.h"

struct ws_track_launches {
    struct ws_vector streams; /* elements: struct ws_stream_delays, most launches first */
    uint64_t launches;        /* number of operations on the device whose launch call is in the trace */
    int64_t call_time;        /* ns that the host spent in launch calls, except those in `blocking` */
    uint64_t blocking;        /* launches whose call returned only after the operation had ended */
    uint64_t waited_for;      /* launches whose call returned only after the device had become idle */
    int64_t waited_ns;        /* ns that the device was idle before the operations of the launches in `waited_for` */
};

/* This analysis runs once per track (one device as used by one process). */
extern const struct ws_analysis ws_analysis_launches;

/* defined in launches_report.c */
void ws_launches_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_launches_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
