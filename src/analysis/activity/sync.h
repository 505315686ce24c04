/* The host calls that waited for the device, and the lines of the program that made them. */
#ifndef WALLSHIM_ANALYSIS_ACTIVITY_SYNC_H
#define WALLSHIM_ANALYSIS_ACTIVITY_SYNC_H

#include "base/vector.h"
#include "report/analysis.h"

/* Waits of one thread in one function, at one place: their number, and their total and longest host time in ns. */
struct ws_sync_row {
    uint32_t function; /* the function's id among the trace's driver_function rows; 0: not known */
    uint32_t thread;
    uint32_t place; /* the place in the program that made the calls (model/stacks.h); WS_NO_FRAME: not known */
    uint64_t count;
    int64_t total, longest;
};

struct ws_process_sync {
    struct ws_vector rows; /* elements: struct ws_sync_row, largest total first */
    int64_t total;
};

extern const struct ws_analysis ws_analysis_sync;

/* defined in sync_report.c */
void ws_sync_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_sync_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
