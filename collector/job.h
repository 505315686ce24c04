/* A job is a group of processes that belong together, such as the ranks of a training. Each job has a folder, with a
 * trace for each recording and a manifest (manifest.json) that lists the recordings. */
#ifndef WALLSHIM_COLLECTOR_JOB_H
#define WALLSHIM_COLLECTOR_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names.h"
#include "collector/stream.h"

enum { FROM_SIZE = 256 };

/* Identifies a recording by its process and by the random number `stream`, which differs between the recordings of
 * one process. */
struct identity {
    pid_t pid; /* from the kernel, not from the client, unless `from` is set */
    uint64_t start_time;
    uint64_t stream;
    char boot_id[40];
    /* Name of the collector that relays the process, from that collector's certificate. All other values of this
     * struct then come from that collector. "": the process runs on this machine. */
    char from[FROM_SIZE];
};

struct recording {
    struct recording *next;
    struct identity identity;
    char file[NAME_SIZE];
    uid_t uid;
    char host[72], rank[64];
    char ended[96]; /* how the recording ended; "": it has not ended */
    uint64_t bytes, frames, refused_bytes;
    bool open;                 /* a client is connected, or the collector still completes the trace (remains.h) */
    struct progress *progress; /* the answers of its process (hang.h); NULL: never asked */
    /* Position in the trace at which the last connection ended. stream.begun is false if this run of the collector
     * did not see that end. */
    struct stream stream;
    struct flight *flight; /* with --flight: the trace's last seconds, in memory; NULL: no --flight, or dropped */
    uint64_t ended_ms;     /* with --flight: when the recording was last seen open, in ms of uv_now() */
    /* The next fields are used with --relay, which sends all traces to another collector (relay.c). */
    bool relayed;         /* the recording has ended, and the other collector has the whole trace */
    unsigned relay;       /* index in relay.streams of the stream that sends its trace, plus 1; 0: none */
    uint64_t relay_after; /* after a failure: when to try to send the trace again, in ms of uv_now() */
    /* While `open`: how many bytes at the start of the trace are final; UINT64_MAX: all. If the process is killed,
     * the collector may replace the bytes after these (remains.h). */
    uint64_t settled;
};

/* An event that the manifest lists: a dump or a hang. */
struct job_event {
    char time[24], cause[16], folder[64], text[400];
};
enum { JOB_EVENTS_MAX = 64 }; /* most events of a job; if there are more, the oldest are dropped */

struct job {
    struct job *next;
    char name[NAME_SIZE];
    int folder; /* a descriptor of its folder */
    struct recording *recordings;
    unsigned count;
    uint64_t removed_traces, removed_dumps, removed_bytes; /* what quotas (quota.h) have removed so far */
    struct job_event *events; /* array of JOB_EVENTS_MAX, oldest event first; NULL: none yet */
    unsigned event_count;
    unsigned dumps;   /* number of its dumps that wait or are being written */
    uint64_t slow_ms; /* when the last dump for a slow step was requested, in ms of uv_now(); 0: never */
    unsigned relays;  /* number of streams that relay its traces */
    bool hang_said;   /* a hang of the job was reported, and has not ended */
    /* When its processes were asked for their progress once more because the job seems to hang, in ms of uv_now(); 0:
     * they were not asked. */
    uint64_t hang_asked_ms;
    bool changed; /* the manifest must be written again */
};

struct jobs {
    int folder;         /* a descriptor of the folder of all jobs */
    const char *always; /* name of the only job; NULL: each client tells the name of its job */
    struct job *first;
    unsigned count;
    /* Number of clients that were refused before they had a recording, and number of bytes that they had sent. */
    uint64_t refused_clients, refused_bytes;
    bool unrelayed; /* jobs that are not in memory may have traces that relay.c must still send */
};

/* Finds a job by its name, or loads it from its folder. With `make`, creates the folder if necessary. Returns NULL if
 * the job does not exist, or cannot be loaded or created. */
struct job *jobs_get(struct jobs *jobs, const char *name, bool make);

/* Is the number of jobs in memory at its limit? If so, jobs_get can load another job only if it can free a job that
 * is not in use. */
bool jobs_are_full(const struct jobs *jobs);

/* Writes the manifest of a job that has changed. */
void job_write(struct job *job, const struct jobs *jobs);

/* Writes the manifests of jobs that have changed. */
void jobs_write(struct jobs *jobs);
void jobs_finish(struct jobs *jobs);

/* Calls `each` with the name of every job in the folder, including jobs that nobody records into now. */
void jobs_each(struct jobs *jobs, void (*each)(void *data, const char *name), void *data);

/* Corrects the manifests of jobs whose collector was killed: marks the end of recordings that are still listed as
 * "still recording". Returns 0; or -EBUSY if the job of --job exists but cannot be used, for example because another
 * collector writes into it. */
int jobs_begin(struct jobs *jobs);

/* Removes a recording that is not open, and its file. Returns 0 or -errno. */
int job_remove(struct job *job, const char *file);

/* Removes a recording and its file, because the process has written the whole trace into a file of its own. If the
 * trace was sent to another collector (--relay), or is being sent, the recording stays. */
void job_drop_duplicate(struct job *job, const struct recording *recording);

struct recording *job_find(struct job *job, const struct identity *identity);

/* Adds a recording, and creates its file. The file is named `file`, or similarly if a file of this name exists.
 * Returns the descriptor, or -errno; -EDQUOT: too many recordings. */
int job_add(struct job *job, const struct identity *identity, const char *file, struct recording **recording);

/* Like job_add, for a recording whose trace is kept in memory (flight.h) and has no file. Returns 0 or -errno. */
int job_add_in_memory(struct job *job, const struct identity *identity, const char *file,
                      struct recording **recording);

/* Initializes an event with the current time. */
void job_event_init(struct job_event *event, const char *cause, const char *text);

/* Adds an event to the job's manifest. */
void job_tell(struct job *job, const struct job_event *event);

/* Reopens the file of a recording. If this run of the collector saw the end of the last connection, sets *stream to
 * the position in the trace at that time. If not, the caller must find the position by reading the file with
 * job_read_on. Returns the descriptor, or -errno. */
int job_reopen(struct job *job, struct recording *recording, struct stream *stream);

/* Reads the next part of the file into `stream`, as if a client had sent it. Does not change the file. Returns 1:
 * call it again; 0: the whole file is read; or -errno; -EBADMSG: the file is damaged. */
int job_read_on(int file, struct stream *stream);

/* Cuts the file off after its last complete frame. To be called only when the client continues the trace at that
 * position, or has ended. */
int job_trim(int file, const struct stream *stream);

/* manifest_write and manifest_read (manifest.c) return 0 or -errno; -EINVAL: the manifest's content is wrong. */
int manifest_write(struct job *job, const struct jobs *jobs);
int manifest_read(struct job *job); /* -EBUSY: another collector writes it */

/* Appends a new recording to a file beside the manifest. So if many clients come at once, the whole manifest is not
 * written again for each of them. manifest_write removes that file. */
void manifest_note(struct job *job, const struct recording *recording);

#endif
