/* Limits for the folder of all jobs. Beyond them, the oldest ended traces and the oldest dumps are removed. */
#ifndef WALLSHIM_COLLECTOR_QUOTA_H
#define WALLSHIM_COLLECTOR_QUOTA_H

#include <stdint.h>

struct jobs;

struct quota {
    uint64_t job_bytes, all_bytes; /* limits for each job, and for all jobs together; 0: no limit */
    uint64_t age_ns;               /* limit of the time since a trace or dump was last written to; 0: no limit */
};

/* Removes what is beyond the limits, and prints that on stderr. Recordings that have not ended count, but stay. */
void quota_keep(const struct quota *quota, struct jobs *jobs);

#endif
