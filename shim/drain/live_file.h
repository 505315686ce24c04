/* The live memory (state/live.h) of a trace in a file. It is a file in /dev/shm, and a link beside the trace names
 * it. On a disk, the system would have to write out the pages, and the program would wait for that at times. All here
 * is for the file thread, and only where it has a descriptor table of its own. */
#ifndef WALLSHIM_SHIM_DRAIN_LIVE_FILE_H
#define WALLSHIM_SHIM_DRAIN_LIVE_FILE_H

struct live_file {
    int fd; /* -1: there is none */
    char path[64];
    char link[4096 + 8];
};

/* Makes the live memory of the trace. Without it the trace is written all the same. */
void live_file_begin(struct live_file *file, const char *trace);

/* The trace is complete: removes link and memory. */
void live_file_end(struct live_file *file);

#endif
