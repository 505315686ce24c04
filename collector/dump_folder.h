/* Measures and removes the folders of dumps (dump.h), for the limits of disk space (quota.h). */
#ifndef WALLSHIM_COLLECTOR_DUMP_FOLDER_H
#define WALLSHIM_COLLECTOR_DUMP_FOLDER_H

#include <stdint.h>

#include "collector/job.h"

/* Calls `each` for every dump in the job's folder. Recognizes these folders by their names, because the manifest
 * lists only the newest dumps. */
void dumps_each(const struct job *job, void (*each)(void *data, const struct job *job, const char *folder),
                void *data);

/* Finds the size of the dump's files in bytes, and the latest time at which one of them was modified, in ns since
 * 1970. Returns 0, or -errno if the folder does not exist or is not named like a dump. */
int dump_size(const struct job *job, const char *folder, uint64_t *bytes, int64_t *written);

/* Removes the dump's files, and then the dump's folder if it is empty. Adds `bytes` to the job's count of removed
 * bytes. Returns 0 or -errno. */
int dump_remove(struct job *job, const char *folder, uint64_t bytes);

#endif
