#include "collector/job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/flight.h"
#include "collector/say.h"

enum {
    JOBS_MAX = 64,         /* most jobs in memory at a time */
    RECORDINGS_MAX = 4096, /* most recordings of one job */
    OF_A_PROCESS_MAX = 16, /* most recordings of one process, which can start a new recording at each exec */
    NAMES_TRIED = 1000,
    READ_SIZE = 64 << 10,
    READS_A_STEP = 16, /* most reads in one call of job_read_on, so that other clients are served in between */
};

static void free_job(struct job *job)
{
    for (struct recording *one = job->recordings, *other; one; one = other) {
        other = one->next;
        flight_destroy(one->flight);
        free(one->progress);
        free(one);
    }
    close(job->folder);
    free(job->events);
    free(job);
}

static bool is_in_use(const struct job *job)
{
    const struct recording *one = job->recordings;
    while (one && !one->open)
        one = one->next;
    return one || job->dumps || job->relays;
}

static bool is_relayed(const struct job *job)
{
    const struct recording *one = job->recordings;
    while (one && one->relayed)
        one = one->next;
    return !one;
}

/* Writes the manifest of a job that nobody records into, and frees the job. jobs_get can load the job from the
 * manifest again. */
static void make_room(struct jobs *jobs)
{
    for (struct job **link = &jobs->first; *link; link = &(*link)->next) {
        struct job *job = *link;
        if (is_in_use(job))
            continue;
        job_write(job, jobs);
        if (job->changed)
            continue;
        *link = job->next;
        jobs->count--;
        jobs->unrelayed |= !is_relayed(job);
        free_job(job);
        return;
    }
}

bool jobs_are_full(const struct jobs *jobs)
{
    return jobs->count >= JOBS_MAX;
}

/* Reads the job's manifest. Renames it if its content is invalid. Returns whether the job can be used. */
static bool take_manifest(struct job *job)
{
    int error = manifest_read(job);
    if (!error || error == -ENOENT)
        return true;
    if (error == -EBUSY) {
        say("%s: another collector writes into this job", job->name);
        return false;
    }
    say("%s/manifest.json cannot be read: %s", job->name, strerror(-error));
    if (error != -EINVAL && error != -ELOOP)
        return false; /* a later call may succeed */
    if (renameat(job->folder, "manifest.json", job->folder, "manifest.json.bad"))
        return false;
    say("%s: it is now called manifest.json.bad; the traces that it names are left as they are", job->name);
    return true;
}

struct job *jobs_get(struct jobs *jobs, const char *wanted, bool make)
{
    char name[NAME_SIZE];
    if (jobs->always)
        snprintf(name, sizeof(name), "%s", jobs->always); /* from --job, already checked by name_is_plain */
    else
        name_make_safe(wanted, "job", "", name);
    for (struct job *job = jobs->first; job; job = job->next)
        if (!strcmp(job->name, name))
            return job;
    if (jobs_are_full(jobs))
        make_room(jobs);
    if (jobs_are_full(jobs) || (make && mkdirat(jobs->folder, name, 0700) && errno != EEXIST))
        return NULL;
    int folder = openat(jobs->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct job *job = folder < 0 ? NULL : calloc(1, sizeof(*job));
    if (!job) {
        if (folder >= 0)
            close(folder);
        return NULL;
    }
    memcpy(job->name, name, sizeof(name));
    job->folder = folder;
    if (!take_manifest(job)) {
        free_job(job);
        return NULL;
    }
    job->next = jobs->first;
    jobs->first = job;
    jobs->count++;
    return job;
}

void job_write(struct job *job, const struct jobs *jobs)
{
    int error = job->changed ? manifest_write(job, jobs) : 0;
    if (error)
        say("%s/manifest.json: %s", job->name, strerror(-error));
    else
        job->changed = false;
}

void jobs_write(struct jobs *jobs)
{
    for (struct job *job = jobs->first; job; job = job->next)
        job_write(job, jobs);
}

void jobs_finish(struct jobs *jobs)
{
    for (struct job *job = jobs->first, *next; job; job = next) {
        next = job->next;
        free_job(job);
    }
    jobs->first = NULL;
}

static bool is_same_process(const struct identity *a, const struct identity *b)
{
    return a->pid == b->pid && a->start_time == b->start_time && !strcmp(a->boot_id, b->boot_id) &&
           !strcmp(a->from, b->from);
}

void jobs_each(struct jobs *jobs, void (*each)(void *data, const char *name), void *data)
{
    if (jobs->always) {
        each(data, jobs->always);
        return;
    }
    int copy = openat(jobs->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (!folder && copy >= 0)
        close(copy);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (name_is_safe(entry->d_name))
            each(data, entry->d_name);
    if (folder)
        closedir(folder);
}

/* Loads a job. manifest_read corrects recordings that a killed collector left as "still recording". If it has
 * corrected any, job_write writes the manifest again. */
static void begin_job(void *data, const char *name)
{
    struct job *job = jobs_get(data, name, false);
    if (job)
        job_write(job, data);
}

int jobs_begin(struct jobs *jobs)
{
    jobs_each(jobs, begin_job, jobs);
    if (!jobs->always)
        return 0;
    struct stat about;
    return fstatat(jobs->folder, jobs->always, &about, AT_SYMLINK_NOFOLLOW) || jobs->first ? 0 : -EBUSY;
}

int job_remove(struct job *job, const char *file)
{
    for (struct recording **link = &job->recordings; *link; link = &(*link)->next) {
        struct recording *one = *link;
        if (strcmp(one->file, file) || one->open)
            continue;
        if (!name_is_safe(one->file))
            return -EINVAL;
        if (unlinkat(job->folder, one->file, 0) && errno != ENOENT)
            return -errno;
        job->count--;
        job->changed = true;
        *link = one->next;
        flight_destroy(one->flight);
        free(one->progress);
        free(one);
        return 0;
    }
    return -ENOENT;
}

void job_drop_duplicate(struct job *job, const struct recording *recording)
{
    if (!recording->relay && !recording->relayed)
        job_remove(job, recording->file);
}

struct recording *job_find(struct job *job, const struct identity *identity)
{
    struct recording *one = job ? job->recordings : NULL;
    while (one && !(is_same_process(&one->identity, identity) && one->identity.stream == identity->stream))
        one = one->next;
    return one;
}

static bool has_room(const struct job *job, const struct identity *identity)
{
    unsigned of_process = 0;
    for (const struct recording *one = job->recordings; one; one = one->next)
        of_process += is_same_process(&one->identity, identity);
    return job->count < RECORDINGS_MAX && of_process < OF_A_PROCESS_MAX;
}

/* Creates the file of a trace. The wanted name holds a process id, and the system uses ids again, so a file of this
 * name may exist. If it does, tries NAME-1.wst, NAME-2.wst … */
static int create_file(const struct job *job, const char *wanted, char name[NAME_SIZE])
{
    char safe[NAME_SIZE];
    int file = -1;
    name_make_safe(wanted, "trace", ".wst", safe);
    memcpy(name, safe, sizeof(safe));
    int stem = (int)(strlen(safe) - strlen(".wst"));
    for (unsigned attempt = 1; file < 0 && attempt <= NAMES_TRIED; attempt++) {
        file = openat(job->folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            return -errno;
        if (file < 0)
            snprintf(name, NAME_SIZE, "%.*s-%u.wst", stem, safe, attempt);
    }
    return file < 0 ? -EEXIST : file;
}

static void put_recording(struct job *job, struct recording *recording, const struct identity *identity)
{
    recording->identity = *identity;
    recording->next = job->recordings;
    job->recordings = recording;
    job->count++;
}

int job_add(struct job *job, const struct identity *identity, const char *file, struct recording **result)
{
    if (!has_room(job, identity))
        return -EDQUOT;
    struct recording *recording = calloc(1, sizeof(*recording));
    if (!recording)
        return -ENOMEM;
    int descriptor = create_file(job, file, recording->file);
    if (descriptor < 0) {
        free(recording);
        return descriptor;
    }
    put_recording(job, recording, identity);
    *result = recording;
    return descriptor;
}

static bool is_named(const struct job *job, const char *name)
{
    const struct recording *one = job->recordings;
    while (one && strcmp(one->file, name))
        one = one->next;
    return one;
}

int job_add_in_memory(struct job *job, const struct identity *identity, const char *file, struct recording **result)
{
    if (!has_room(job, identity))
        return -EDQUOT;
    struct recording *recording = calloc(1, sizeof(*recording));
    char safe[NAME_SIZE];
    if (!recording)
        return -ENOMEM;
    name_make_safe(file, "trace", ".wst", safe);
    memcpy(recording->file, safe, sizeof(safe));
    int stem = (int)(strlen(safe) - strlen(".wst"));
    for (unsigned attempt = 1; is_named(job, recording->file); attempt++)
        snprintf(recording->file, NAME_SIZE, "%.*s-%u.wst", stem, safe, attempt);
    put_recording(job, recording, identity);
    *result = recording;
    return 0;
}

void job_event_init(struct job_event *event, const char *cause, const char *text)
{
    struct timespec now;
    struct tm parts;
    *event = (struct job_event){ 0 };
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(event->time, sizeof(event->time), "%Y-%m-%dT%H:%M:%SZ", &parts);
    snprintf(event->cause, sizeof(event->cause), "%s", cause);
    snprintf(event->text, sizeof(event->text), "%s", text);
}

void job_tell(struct job *job, const struct job_event *event)
{
    if (!job->events)
        job->events = calloc(JOB_EVENTS_MAX, sizeof(*job->events));
    if (!job->events)
        return;
    if (job->event_count == JOB_EVENTS_MAX)
        memmove(job->events, job->events + 1, --job->event_count * sizeof(*job->events));
    job->events[job->event_count++] = *event;
    job->changed = true;
}

static int keep_unit(void *data, const uint8_t *unit, size_t size)
{
    (void)data;
    (void)unit;
    (void)size;
    return 0;
}

int job_read_on(int file, struct stream *stream)
{
    static uint8_t bytes[READ_SIZE];
    for (int i = 0; i < READS_A_STEP; i++) {
        ssize_t size = pread(file, bytes, sizeof(bytes), (off_t)(stream->taken + stream->size));
        if (size < 0 && errno != EINTR)
            return -errno;
        int status = size > 0 ? stream_add(stream, bytes, (size_t)size, keep_unit, NULL) : 0;
        if (status)
            return status;
        if (!size) {
            stream_finish(stream); /* drops the incomplete frame, if any, that was read at the end of the file */
            return 0;
        }
    }
    return 1;
}

int job_trim(int file, const struct stream *stream)
{
    return ftruncate(file, (off_t)stream->taken) ? -errno : 0;
}

int job_reopen(struct job *job, struct recording *recording, struct stream *stream)
{
    struct stat about;
    int file = name_is_safe(recording->file)
                   ? openat(job->folder, recording->file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                   : -1;
    if (file < 0)
        return -ENOENT;
    if (fstat(file, &about) || !S_ISREG(about.st_mode)) {
        close(file);
        return -EINVAL;
    }
    /* recording->stream is the position at which the last connection ended. This position is valid only if nobody has
     * shortened the file since then. */
    if (recording->stream.begun && recording->stream.taken <= (uint64_t)about.st_size)
        *stream = recording->stream;
    return file;
}
