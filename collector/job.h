/* Jobs: a folder each, with a trace for each recording and a manifest that names them. */
#ifndef WALLSHIM_COLLECTOR_JOB_H
#define WALLSHIM_COLLECTOR_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names.h"
#include "collector/stream.h"

/* A recording belongs to a process, and is told from other recordings of that process by a random number. */
struct identity {
    pid_t pid; /* as the kernel says, not the client */
    uint64_t start_time;
    uint64_t stream;
    char boot_id[40];
};

struct recording {
    struct recording *next;
    struct identity identity;
    char file[NAME_SIZE];
    uid_t uid;
    char host[72], rank[64];
    char ended[96]; /* how it ended; "": it has not */
    uint64_t bytes, frames, refused_bytes;
    bool open; /* a client is connected */
};

struct job {
    struct job *next;
    char name[NAME_SIZE];
    int folder; /* a descriptor */
    struct recording *recordings;
    unsigned count;
    bool changed; /* the manifest is older than this */
};

struct jobs {
    int folder;         /* a descriptor of the folder of all jobs */
    const char *always; /* name of the only job; NULL: clients name theirs */
    struct job *first;
    unsigned count;
    uint64_t refused_clients, refused_bytes; /* of clients that never had a recording */
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

struct recording *job_find(struct job *job, const struct identity *identity);

/* Adds a recording, and creates its file under `file`, or under a similar name if there is such a file. Returns the
 * descriptor, or -errno; -EDQUOT: too many recordings. */
int job_add(struct job *job, const struct identity *identity, const char *file, struct recording **recording);

/* Opens the file of a recording again, and reads it into `stream`. A last unit that is not whole is cut off.
 * Returns the descriptor, or -errno; -EBADMSG: the file is damaged, and left as it is. */
int job_reopen(struct job *job, struct recording *recording, struct stream *stream);

/* The manifest (manifest.c). Both return 0 or -errno; -EINVAL: its content is wrong. */
int manifest_write(struct job *job, const struct jobs *jobs);
int manifest_read(struct job *job);

#endif
