/* Jobs: a folder each, with a trace for each recording and a manifest that names them. */
#ifndef WALLSHIM_COLLECTOR_JOB_H
#define WALLSHIM_COLLECTOR_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names.h"
#include "collector/stream.h"

enum { FROM_SIZE = 256 };

/* A recording belongs to a process, and is told from other recordings of that process by a random number. */
struct identity {
    pid_t pid; /* as the kernel says, not the client; but see `from` */
    uint64_t start_time;
    uint64_t stream;
    char boot_id[40];
    char from[FROM_SIZE]; /* the collector that relayed it, by its certificate; "": the process is on this machine.
                           * All else is what that collector says. */
};

struct recording {
    struct recording *next;
    struct identity identity;
    char file[NAME_SIZE];
    uid_t uid;
    char host[72], rank[64];
    char ended[96]; /* how it ended; "": it has not */
    uint64_t bytes, frames, refused_bytes;
    bool open;                 /* a client is connected */
    struct progress *progress; /* how far its process says that it is (hang.h); NULL: it was never asked */
    struct stream stream;      /* how far the last client came, if this collector saw it */
    struct flight *flight;     /* with --flight: its last seconds, in place of a file; NULL: they are forgotten */
    uint64_t ended_ms;         /* with --flight: when it was last seen open, in ms of the loop */
    /* With --relay (relay.c): */
    bool relayed;         /* it has ended, and the other collector has all of it */
    unsigned relay;       /* number of its connection there; 0: none */
    uint64_t relay_after; /* it was refused, and is not tried again before this time, in ms of the loop */
    uint64_t settled;     /* while open: bytes that will stay as they are; salvage may cut off what is behind */
};

/* Something that the manifest tells of a job: a dump, a hang. The texts are the collector's own words. */
struct job_event {
    char time[24], cause[16], folder[64], text[400];
};
enum { JOB_EVENTS_MAX = 64 }; /* the oldest ones go */

struct job {
    struct job *next;
    char name[NAME_SIZE];
    int folder; /* a descriptor */
    struct recording *recordings;
    unsigned count;
    uint64_t removed_traces, removed_bytes; /* for the quotas */
    struct job_event *events;               /* JOB_EVENTS_MAX of them, the oldest first; NULL: none yet */
    unsigned event_count;
    unsigned dumps;         /* that are being written */
    unsigned relays;        /* connections that relay its traces */
    bool hang_said;         /* it hangs, and that was said */
    uint64_t hang_asked_ms; /* it seems to hang, and all were asked once more then; 0: no */
    bool changed;           /* the manifest is older than this */
};

struct jobs {
    int folder;         /* a descriptor of the folder of all jobs */
    const char *always; /* name of the only job; NULL: clients name theirs */
    struct job *first;
    unsigned count;
    uint64_t refused_clients, refused_bytes; /* of clients that never had a recording */
    bool unrelayed;                          /* a job that was forgotten may have traces that are to be relayed */
};

/* Finds the job of this name; reads its manifest if it has one already. With `make`, makes its folder if there is
 * none. Returns NULL if there is none, or it cannot be made. */
struct job *jobs_get(struct jobs *jobs, const char *name, bool make);

/* Are there as many jobs with open recordings as there may be? */
bool jobs_are_full(const struct jobs *jobs);

/* Writes the manifest of a job that has changed. */
void job_write(struct job *job, const struct jobs *jobs);

/* Writes the manifests of jobs that have changed. */
void jobs_write(struct jobs *jobs);
void jobs_finish(struct jobs *jobs);

/* Calls `each` with the name of every job in the folder, also of those that nobody records into now. */
void jobs_each(struct jobs *jobs, void (*each)(void *data, const char *name), void *data);

/* Corrects the manifests of jobs whose collector was killed: nothing there is still recorded. Returns 0; or -EBUSY if
 * the only job belongs to another collector. */
int jobs_begin(struct jobs *jobs);

/* Removes a recording that is not open, and its file. Returns 0 or -errno. */
int job_remove(struct job *job, const char *file);

struct recording *job_find(struct job *job, const struct identity *identity);

/* Adds a recording, and creates its file under `file`, or under a similar name if there is such a file. Returns the
 * descriptor, or -errno; -EDQUOT: too many recordings. */
int job_add(struct job *job, const struct identity *identity, const char *file, struct recording **recording);

/* The same for a recording that has no file (flight.h). Returns 0 or -errno. */
int job_add_in_memory(struct job *job, const struct identity *identity, const char *file,
                      struct recording **recording);

/* Adds to what the manifest tells. */
void job_tell(struct job *job, const struct job_event *event);

/* Opens the file of a recording again. `stream` goes on where the last client ended, if this collector saw that; else
 * job_read_on must read the file. Returns the descriptor, or -errno. */
int job_reopen(struct job *job, struct recording *recording, struct stream *stream);

/* Reads a part of the file into `stream`, as if a client had sent it. Changes nothing in the file. Returns 1: call it
 * again; 0: all has been read; or -errno; -EBADMSG: the file is damaged. */
int job_read_on(int file, struct stream *stream);

/* Cuts off what stands behind the last whole unit. To be called when the client is seen to go on just there. */
int job_trim(int file, const struct stream *stream);

/* The manifest (manifest.c). Both return 0 or -errno; -EINVAL: its content is wrong. */
int manifest_write(struct job *job, const struct jobs *jobs);
int manifest_read(struct job *job); /* -EBUSY: another collector writes it */

/* Notes a new recording in a file beside the manifest, until manifest_write writes all. So many clients that come at
 * once do not write the whole manifest each. */
void manifest_note(struct job *job, const struct recording *recording);

#endif
