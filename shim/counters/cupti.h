/* Calls CUPTI's range profiler, to read hardware counters for one launch at a time. libcupti is found at run time,
 * and called only if the program is recorded with --counters. Only one thread at a time may call these functions. */
#ifndef WALLSHIM_SHIM_COUNTERS_CUPTI_H
#define WALLSHIM_SHIM_COUNTERS_CUPTI_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/cupti.h"
#include "record/counters.h"

struct shim_context;

/* A group of metrics that the hardware counts in one pass. */
struct cupti_group {
    const char *names[WS_METRICS_IN_GROUP];
    uint32_t first, count; /* the group's metrics: index of the first in session->metrics, and their number */
    bool tensor;         /* the metrics count FLOPs of tensor cores, so they are 0 for a kernel without such FLOPs */
    ws_CUpti_Host *host; /* CUPTI's host object for the group; NULL: this device cannot count the group */
    uint8_t *config;
    /* bytes of `config`, and bytes of the group's counter data */
    size_t config_size, data_size;
};

/* The profiler of a context. */
struct cupti_session {
    struct shim_context *context;
    ws_CUpti_RangeProfiler *profiler; /* CUPTI's object; NULL: the profiler is not enabled now */
    struct ws_metric metrics[WS_METRICS_MOST];
    struct cupti_group groups[WS_METRICS_MOST];
    uint32_t metric_count, group_count;
    uint8_t *data;    /* buffer for CUPTI's counter data image */
    size_t data_room; /* bytes of the buffer `data` */
};

/* Prepares all groups of metrics for the context's device. Returns NULL on success, else a text that says why there
 * can be no counters and how to enable them. */
const char *cupti_open(struct cupti_session *session, struct shim_context *context);

/* Enables the profiler anew, and begins a CUPTI range in which the group is counted. Returns NULL on
 * success, else a text that says why it failed. */
const char *cupti_begin(struct cupti_session *session, struct cupti_group *group);

/* Ends the range of cupti_begin. The kernel in the range must have ended. Fills in the value of each metric. Returns
 * NULL on success, else a text that says why it failed. */
const char *cupti_end(struct cupti_session *session, const struct cupti_group *group, double *values);

/* Disables the profiler, so that other tools or processes can use the hardware counters. The next cupti_begin enables
 * it again. */
void cupti_disable(struct cupti_session *session);

#endif
