/* Limits of what the folder of the jobs holds. The oldest recordings that have ended are removed first. */
#ifndef WALLSHIM_COLLECTOR_QUOTA_H
#define WALLSHIM_COLLECTOR_QUOTA_H

#include <stdint.h>

struct jobs;

struct quota {
    uint64_t job_bytes, all_bytes; /* of a job, and of all jobs together; 0: no limit */
    uint64_t age_ns;               /* since a trace was last written to; 0: no limit */
};

/* Removes what is too old or too much, and says so on stderr. Recordings that have not ended count, but stay. */
void quota_keep(const struct quota *quota, struct jobs *jobs);

#endif
