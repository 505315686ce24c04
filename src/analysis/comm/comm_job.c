#include <errno.h>
#include <stdlib.h>

#include "analysis/comm/comm.h"
#include "analysis/steps/steps.h"

/* Returns the communicator with the most ranks. We assume that this communicator contains all ranks of the job. */
static const struct ws_comm_member *largest_member(const struct ws_track_comm *comm)
{
    const struct ws_comm_member *members = comm->members.data, *largest = NULL;
    for (size_t i = 0; i < comm->members.count; i++)
        if (members[i].size && (!largest || members[i].size > largest->size))
            largest = &members[i];
    return largest;
}

static bool read_number(const char *text, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end || errno || value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    return true;
}

/* Sets the rank's number to the number that the launcher gave. If the launcher gave none, or the process drives
 * several devices, uses the rank in the largest communicator instead. */
static void number_rank(const struct ws_report *report, uint32_t track, struct ws_rank *rank)
{
    const struct ws_process *process = ws_model_process(report->model, ws_model_track(report->model, track)->process);
    const struct ws_comm_member *member = largest_member(ws_report_comm(report, track));
    uint32_t busy = 0;
    for (uint32_t i = 0; i < process->track_count; i++)
        busy += ws_model_track(report->model, process->first_track + i)->count > 0;
    rank->number = track;
    rank->known = busy == 1 && read_number(ws_process_meta(process, "rank"), &rank->number);
    if (!rank->known && member) {
        rank->number = member->rank;
        rank->known = true;
    }
}

/* Returns the number of ranks of the job: the largest number that a launcher or a communicator gives; 0: not known.
 */
static uint32_t largest_job(const struct ws_report *report)
{
    uint32_t largest = 0, size;
    for (size_t i = 0; i < report->model->processes.count; i++)
        if (read_number(ws_process_meta(ws_model_process(report->model, i), "world_size"), &size) && size > largest)
            largest = size;
    for (size_t i = 0; i < report->model->tracks.count; i++) {
        const struct ws_comm_member *member = largest_member(ws_report_comm(report, i));
        if (member && member->size > largest)
            largest = member->size;
    }
    return largest;
}

static int comm_job_by_number(const void *a, const void *b)
{
    const struct ws_rank *x = *(struct ws_rank *const *)a, *y = *(struct ws_rank *const *)b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x > y) - (x < y);
}

static int find_twice(struct ws_job_comm *job)
{
    struct ws_rank *ranks = job->ranks.data, **sorted = malloc((job->ranks.count + 1) * sizeof(struct ws_rank *));
    size_t known = 0;
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < job->ranks.count; i++)
        if (ranks[i].known)
            sorted[known++] = &ranks[i];
    qsort(sorted, known, sizeof(*sorted), comm_job_by_number);
    for (size_t i = 1; i < known; i++)
        sorted[i]->twice = sorted[i]->number == sorted[i - 1]->number;
    free(sorted);
    return 0;
}

static int comm_job_run(const struct ws_report *report, size_t subject, void *memory)
{
    struct ws_job_comm *job = memory;
    (void)subject;
    *job = (struct ws_job_comm){ .ranks = WS_VECTOR(struct ws_rank),
                                 .joined = WS_VECTOR(struct ws_joined),
                                 .entries = WS_VECTOR(struct ws_joined_entry) };
    job->largest = largest_job(report);
    int status = ws_vector_reach(&job->ranks, report->model->tracks.count);
    for (uint32_t track = 0; track < job->ranks.count && !status; track++)
        number_rank(report, track, (struct ws_rank *)job->ranks.data + track);
    if (!status)
        status = find_twice(job);
    if (!status)
        status = ws_comm_match(report, job);
    if (!status)
        status = ws_comm_clocks(report, job);
    if (!status)
        status = ws_comm_waits(report, job);
    return status;
}

static void comm_job_finish(void *memory)
{
    struct ws_job_comm *job = memory;
    struct ws_rank *ranks = job->ranks.data;
    for (size_t i = 0; i < job->ranks.count; i++)
        free(ranks[i].arrivals);
    ws_vector_finish(&job->ranks);
    ws_vector_finish(&job->joined);
    ws_vector_finish(&job->entries);
}

const struct ws_analysis ws_analysis_comm_match = {
    .name = "comm_match",
    .scope = WS_SCOPE_JOB,
    .result_size = sizeof(struct ws_job_comm),
    .needs = { &ws_analysis_comm_ops, &ws_analysis_steps },
    .run = comm_job_run,
    .finish = comm_job_finish,
};
