/* The live memory of a trace that goes into a file: it holds what another process needs to complete the trace if this
 * process is killed (state/live.h). The memory is a file in /dev/shm, and a symbolic link next to the trace points to
 * it. The memory is not a file on a disk, because the kernel would write its pages to the disk, and the program would
 * sometimes wait for the disk. Only the file thread calls these functions, and only if it has a descriptor table of
 * its own. */
#ifndef WALLSHIM_SHIM_DRAIN_LIVE_FILE_H
#define WALLSHIM_SHIM_DRAIN_LIVE_FILE_H

#include "record/live.h"

struct live_file {
    int fd; /* descriptor of the file in /dev/shm; -1: there is no live memory */
    char path[64];
    char link[WS_LIVE_PATH];
};

/* Makes the live memory for the trace with this path. If that fails, file->fd is -1, and the trace is written without
 * live memory. */
void live_file_begin(struct live_file *file, const char *trace);

/* Called when the trace is complete. Removes the link and the memory. */
void live_file_end(struct live_file *file);

#endif
