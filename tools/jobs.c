#include "jobs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "manifest.h"
#include "model/jobs.h"

enum { JOBS_NAMED = 8, FILES_NAMED = 16 };

static bool all_were_found(const struct tool_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++)
        if (!traces->found[i])
            return false;
    return traces->count > 1;
}

/* Returns when the job's last recording started; INT64_MIN: not known. */
static int64_t start_of(const struct ws_model *model, const uint32_t *jobs, uint32_t job)
{
    int64_t start = INT64_MIN, first, last;
    for (size_t i = 0; i < model->processes.count; i++)
        if (jobs[i] == job && ws_process_span(ws_model_process(model, i), &first, &last) && first > start)
            start = first;
    return start;
}

static uint32_t jobs_newest(const struct ws_model *model, const uint32_t *jobs, uint32_t count)
{
    uint32_t best = 0;
    int64_t latest = INT64_MIN;
    for (uint32_t job = 0; job < count; job++) {
        int64_t start = start_of(model, jobs, job);
        if (start > latest) {
            latest = start;
            best = job;
        }
    }
    return best;
}

/* Writes the start as ", of 2026-11-21 21:04:38", or "" if the start is not known. */
static void write_time(int64_t start, char *text, size_t capacity)
{
    time_t seconds = (time_t)(start / 1000000000);
    struct tm parts;
    *text = 0;
    if (start > 0 && localtime_r(&seconds, &parts))
        strftime(text, capacity, ", of %F %T", &parts);
}

/* Prints the files of a job, each once. */
static void print_files(const struct ws_model *model, const uint32_t *jobs, uint32_t job)
{
    const char *last = "";
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < model->processes.count; i++) {
        const char *path = ws_model_process(model, i)->path;
        if (jobs[i] != job || !strcmp(path, last))
            continue;
        last = path;
        if (shown < FILES_NAMED)
            tool_put(" %s", path);
        else
            more++;
        shown++;
    }
    if (more)
        tool_put(" and %zu more", more);
}

static void name_jobs(const struct ws_model *model, const uint32_t *jobs, uint32_t count, uint32_t kept)
{
    char time[40];
    uint32_t named = 0;
    write_time(start_of(model, jobs, kept), time, sizeof(time));
    bool runs = tool_manifest_is_beside(ws_model_process(model, 0)->path);
    const char *one = runs ? "run" : "job"; /* a job of a collector (manifest.json) may hold several runs */
    tool_put("wallshim: these are recordings of %u %ss; reading the newest%s:", count, one, time);
    print_files(model, jobs, kept);
    fputc('\n', stderr);
    for (uint32_t job = 0; job < count; job++) {
        if (job == kept || named++ >= JOBS_NAMED)
            continue;
        write_time(start_of(model, jobs, job), time, sizeof(time));
        tool_put("wallshim: left out, another %s%s; to read it: wallshim report", one, time);
        print_files(model, jobs, job);
        fputc('\n', stderr);
    }
    if (named > JOBS_NAMED)
        tool_say("left out: %u more %ss; to read one of them, name its files instead of the folder",
                 named - JOBS_NAMED, one);
}

int tool_keep_one_job(struct ws_model *model, const struct tool_traces *traces)
{
    if (!all_were_found(traces))
        return 0;
    uint32_t *jobs = calloc(model->processes.count + 1, sizeof(*jobs));
    int count = jobs ? ws_jobs_find(model, jobs) : -1;
    if (count > 1) {
        uint32_t kept = jobs_newest(model, jobs, (uint32_t)count);
        name_jobs(model, jobs, (uint32_t)count, kept);
        ws_model_keep(model, jobs, kept);
    }
    free(jobs);
    return count < 0 ? tool_error("out of memory") : 0;
}
