/* Measures and removes the folders of dumps (dump.h), for the limits of disk space (quota.h). */
#ifndef WALLSHIM_COLLECTOR_DUMP_FOLDER_H
#define WALLSHIM_COLLECTOR_DUMP_FOLDER_H

#include <stdint.h>

#include "collector/job.h"

/* Calls `each` for every dump in the job's folder. That includes dumps that the manifest does not list any more,
 * because it keeps only the newest events; their folders are recognized by their names. */
void dumps_each(const struct job *job, void (*each)(void *data, const struct job *job, const char *folder),
                void *data);

/* Finds the size of the dump's files in bytes, and when the last one was modified, in ns since 1970. Returns 0, or
 * -errno if the folder does not exist or is not named like a dump. */
int dump_size(const struct job *job, const char *folder, uint64_t *bytes, int64_t *written);

/* Removes the dump's files, and then its folder if that is empty. Adds `bytes` to the job's count of removed bytes.
 * Returns 0 or -errno. */
int dump_remove(struct job *job, const char *folder, uint64_t bytes);

#endif
