/* Jobs: a folder each, with a trace for each recording and a manifest that names them. */
#ifndef WALLSHIM_COLLECTOR_JOB_H
#define WALLSHIM_COLLECTOR_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names.h"
#include "collector/stream.h"

enum { FROM_SIZE = 256 };

/* Identifies a recording: its process, and the random number `stream`, which differs for each of its recordings. */
struct identity {
    pid_t pid; /* from the kernel, not from the client, unless `from` is set */
    uint64_t start_time;
    uint64_t stream;
    char boot_id[40];
    /* Name of the collector that relays the process, from that collector's certificate. All other values then come
     * from that collector. "": the process runs on this machine. */
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
    bool open;                 /* a client is connected, or its trace is still being completed (remains.h) */
    struct progress *progress; /* the answers of its process (hang.h); NULL: never asked */
    /* Position in the trace at which the last connection ended. stream.begun is false if this run of the collector
     * did not see that end. */
    struct stream stream;
    struct flight *flight; /* with --flight: the trace's last seconds, instead of a file; NULL: they were dropped */
    uint64_t ended_ms;     /* with --flight: when the recording was last seen open, in ms of uv_now() */
    /* With --relay (relay.c): */
    bool relayed;         /* it has ended, and the other collector has all of it */
    unsigned relay;       /* index of its relay stream, plus 1; 0: none */
    uint64_t relay_after; /* after a refusal: when to try again, in ms of uv_now() */
    /* While `open`: how many bytes of the trace are final; UINT64_MAX: all. Salvage (remains.h) may replace the bytes
     * after those. */
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
    bool hang_said;   /* its hang was reported, and has not ended */
    /* When its processes were asked again because the job seems to hang, in ms of uv_now(); 0: they were not. */
    uint64_t hang_asked_ms;
    bool changed; /* the manifest must be written again */
};

struct jobs {
    int folder;         /* a descriptor of the folder of all jobs */
    const char *always; /* name of the only job; NULL: clients name theirs */
    struct job *first;
    unsigned count;
    /* Clients that were refused before they had a recording, and the bytes that they had sent. */
    uint64_t refused_clients, refused_bytes;
    bool unrelayed; /* jobs that are not in memory may have traces to relay */
};

/* Finds a job by its name, or loads it from its folder. With `make`, creates the folder if necessary. Returns NULL if
 * the job does not exist, or cannot be loaded or created. */
struct job *jobs_get(struct jobs *jobs, const char *name, bool make);

/* Are as many jobs in memory as there may be? jobs_get can then load another one only if it can free one that is not
 * in use. */
bool jobs_are_full(const struct jobs *jobs);

/* Writes the manifest of a job that has changed. */
void job_write(struct job *job, const struct jobs *jobs);

/* Writes the manifests of jobs that have changed. */
void jobs_write(struct jobs *jobs);
void jobs_finish(struct jobs *jobs);

/* Calls `each` with the name of every job in the folder, also of those that nobody records into now. */
void jobs_each(struct jobs *jobs, void (*each)(void *data, const char *name), void *data);

/* Corrects the manifests of jobs whose collector was killed: their recordings are not "still recording" any more.
 * Returns 0; or -EBUSY if the job of --job exists but cannot be used, as when another collector has it. */
int jobs_begin(struct jobs *jobs);

/* Removes a recording that is not open, and its file. Returns 0 or -errno. */
int job_remove(struct job *job, const char *file);

/* Removes a recording, and its file, of which the process has written the whole into a file of its own. If a part is
 * being relayed or was relayed, it stays, because the other collector has it, too. */
void job_drop_duplicate(struct job *job, const struct recording *recording);

struct recording *job_find(struct job *job, const struct identity *identity);

/* Adds a recording, and creates its file under `file`, or under a similar name if there is such a file. Returns the
 * descriptor, or -errno; -EDQUOT: too many recordings. */
int job_add(struct job *job, const struct identity *identity, const char *file, struct recording **recording);

/* Like job_add, for a recording without a file (flight.h). Returns 0 or -errno. */
int job_add_in_memory(struct job *job, const struct identity *identity, const char *file,
                      struct recording **recording);

/* Initializes an event with the current time. */
void job_event_init(struct job_event *event, const char *cause, const char *text);

/* Adds an event to the job's manifest. */
void job_tell(struct job *job, const struct job_event *event);

/* Reopens the file of a recording. If this collector saw where the last client stopped, *stream continues there. If
 * not, job_read_on must read the file. Returns the descriptor, or -errno. */
int job_reopen(struct job *job, struct recording *recording, struct stream *stream);

/* Reads the next part of the file into `stream`, as if a client had sent it. Does not change the file. Returns 1:
 * call it again; 0: the whole file is read; or -errno; -EBADMSG: the file is damaged. */
int job_read_on(int file, struct stream *stream);

/* Cuts the file off after its last complete frame. To be called only if the client continues there, or has ended. */
int job_trim(int file, const struct stream *stream);

/* The manifest (manifest.c). Both return 0 or -errno; -EINVAL: its content is wrong. */
int manifest_write(struct job *job, const struct jobs *jobs);
int manifest_read(struct job *job); /* -EBUSY: another collector writes it */

/* Appends a new recording to a file beside the manifest. So the whole manifest is not written again for each of many
 * clients that come at once. manifest_write removes that file. */
void manifest_note(struct job *job, const struct recording *recording);

#endif
