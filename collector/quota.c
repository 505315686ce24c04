#include "collector/quota.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/vector.h"
#include "collector/dump_folder.h"
#include "collector/job.h"
#include "collector/say.h"

/* A trace, or a dump. */
struct stored {
    char job[NAME_SIZE], file[NAME_SIZE]; /* file: name of the trace's file, or of the dump's folder */
    bool dump;
    uint64_t bytes;
    int64_t written; /* when it was last written to, in ns since 1970 */
    bool open;
};

struct survey {
    struct jobs *jobs;
    struct ws_vector stored; /* elements: struct stored, for the traces and dumps of all jobs */
    uint64_t bytes;
};

static int64_t ns_of(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static void survey_dump(void *data, const struct job *job, const char *folder)
{
    struct survey *survey = data;
    struct stored stored = { .dump = true, .open = job->dumps };
    if (dump_size(job, folder, &stored.bytes, &stored.written) || !stored.bytes)
        return; /* no file that the collector wrote is left in the folder, so there is nothing to remove */
    memcpy(stored.job, job->name, sizeof(job->name));
    snprintf(stored.file, sizeof(stored.file), "%s", folder);
    struct stored *one = ws_vector_push(&survey->stored);
    if (!one)
        return;
    *one = stored;
    survey->bytes += stored.bytes;
}

/* Adds the job's dumps, and the traces that its manifest names. Other traces in its folder were not written by a
 * collector, and must stay. */
static void survey_job(void *data, const char *name)
{
    struct survey *survey = data;
    struct job *job = jobs_get(survey->jobs, name, false);
    if (job)
        dumps_each(job, survey_dump, survey);
    for (struct recording *one = job ? job->recordings : NULL; one; one = one->next) {
        struct stat about;
        if (!name_is_safe(one->file) || fstatat(job->folder, one->file, &about, AT_SYMLINK_NOFOLLOW))
            continue;
        struct stored *stored = ws_vector_push(&survey->stored);
        if (!stored)
            return;
        *stored =
            (struct stored){ .bytes = (uint64_t)about.st_size, .written = ns_of(&about.st_mtim), .open = one->open };
        memcpy(stored->job, job->name, sizeof(job->name));
        memcpy(stored->file, one->file, sizeof(one->file));
        survey->bytes += stored->bytes;
    }
}

static int by_age(const void *left, const void *right)
{
    const struct stored *a = left, *b = right;
    return (a->written > b->written) - (a->written < b->written);
}

static uint64_t bytes_of_job(const struct survey *survey, const char *job)
{
    const struct stored *stored = survey->stored.data;
    uint64_t bytes = 0;
    for (size_t i = 0; i < survey->stored.count; i++)
        bytes += strcmp(stored[i].job, job) ? 0 : stored[i].bytes;
    return bytes;
}

/* Returns why the trace or dump must be removed, or NULL. */
static const char *quota_reason(const struct quota *quota, const struct survey *survey, const struct stored *stored,
                                int64_t now)
{
    if (stored->open)
        return NULL;
    if (quota->age_ns && now - stored->written > (int64_t)quota->age_ns)
        return "older than --max-age";
    if (quota->all_bytes && survey->bytes > quota->all_bytes)
        return "all jobs are larger than --max-all";
    if (quota->job_bytes && bytes_of_job(survey, stored->job) > quota->job_bytes)
        return "its job is larger than --max-job";
    return NULL;
}

static void quota_remove(struct survey *survey, struct stored *stored, const char *why)
{
    struct job *job = jobs_get(survey->jobs, stored->job, false);
    if (!job || (stored->dump ? dump_remove(job, stored->file, stored->bytes) : job_remove(job, stored->file)))
        return;
    if (!stored->dump) {
        job->removed_traces++;
        job->removed_bytes += stored->bytes;
    }
    say("removed %s/%s (%" PRIu64 " bytes): %s", stored->job, stored->file, stored->bytes, why);
    survey->bytes -= stored->bytes;
    stored->bytes = 0;
    job_write(job, survey->jobs);
}

void quota_keep(const struct quota *quota, struct jobs *jobs)
{
    struct survey survey = { .jobs = jobs, .stored = WS_VECTOR(struct stored) };
    struct timespec now;
    if (!quota->job_bytes && !quota->all_bytes && !quota->age_ns)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    jobs_each(jobs, survey_job, &survey);
    struct stored *stored = survey.stored.data;
    if (survey.stored.count)
        qsort(stored, survey.stored.count, sizeof(*stored), by_age);
    for (size_t i = 0; i < survey.stored.count; i++) {
        const char *why = quota_reason(quota, &survey, &stored[i], ns_of(&now));
        if (why)
            quota_remove(&survey, &stored[i], why);
    }
    ws_vector_finish(&survey.stored);
}
