/* Limits on the size and age of the traces and dumps in the folder of all jobs. If a limit is exceeded, the collector
 * removes the oldest ended traces and the oldest dumps. */
#ifndef WALLSHIM_COLLECTOR_QUOTA_H
#define WALLSHIM_COLLECTOR_QUOTA_H

#include <stdint.h>

struct jobs;

struct quota {
    uint64_t job_bytes, all_bytes; /* limits for each job, and for all jobs together; 0: no limit */
    uint64_t age_ns;               /* limit of the time since a trace or dump was last written to; 0: no limit */
};

/* Removes traces and dumps, oldest first, until the limits are kept, and prints their names on stderr. Traces of
 * recordings that have not ended count for the limits, but are not removed. */
void quota_keep(const struct quota *quota, struct jobs *jobs);

#endif
