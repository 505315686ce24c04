#include "model/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

/* The longest gap in ns between the recordings of two ranks or hosts that may still belong to one job. */
#define MINUTE INT64_C(60000000000)

enum { SCRIPT = 256 };

/* Facts about a recording that identify its job. Unknown fields are NULL or 0. */
struct claim {
    const struct ws_process *process;
    const char *job, *rank, *world, *host, *program, *pid, *parent, *file, *together;
    char script[SCRIPT]; /* the first two words of the command line that are not options */
    /* Times of the first and last call or operation, in ns of CLOCK_REALTIME; first > last: unknown. */
    int64_t first, last;
    uint64_t *names; /* sorted hashes of the names of the process's communicators */
    size_t name_count;
};

static const char *first_known_fact(const struct ws_process *process, const char *const *keys)
{
    const char *value = NULL;
    for (; *keys && !value; keys++) {
        value = ws_process_meta(process, *keys);
        value = value && *value ? value : NULL;
    }
    return value;
}

/* Returns the rank, or NULL if the rank means nothing: the shim writes rank 0 also for a program that no launcher
 * started. */
static const char *model_jobs_rank_of(const struct ws_process *process)
{
    static const char *const launchers[] = { "world_size", "env.RANK", "env.SLURM_PROCID", NULL };
    const char *rank = ws_process_meta(process, "rank");
    return rank && *rank && (strcmp(rank, "0") != 0 || first_known_fact(process, launchers)) ? rank : NULL;
}

static void write_script(const char *command, char script[SCRIPT])
{
    size_t used = 0;
    int words = 0;
    *script = 0;
    while (command && *command && words < 2) {
        size_t length = strcspn(command, " ");
        if (length && *command != '-') {
            used +=
                (size_t)snprintf(script + used, SCRIPT - used, "%.*s ", (int)(length < 100 ? length : 100), command);
            words++;
        }
        command += length + strspn(command + length, " ");
    }
}

static void model_jobs_widen(struct claim *claim, int64_t begin, int64_t end)
{
    claim->first = ws_min(begin, claim->first);
    claim->last = ws_max(end, claim->last);
}

static bool read_time(const char *text, int64_t *time)
{
    char *end;
    if (!text)
        return false;
    errno = 0;
    *time = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *time > -WS_TIME_MOST && *time < WS_TIME_MOST;
}

bool ws_process_realtime(const struct ws_process *process, int64_t *offset)
{
    int64_t real, monotonic;
    if (!read_time(ws_process_meta(process, "start_realtime_ns"), &real) ||
        !read_time(ws_process_meta(process, "start_monotonic_ns"), &monotonic))
        return false;
    *offset = real - monotonic;
    return true;
}

bool ws_process_span(const struct ws_process *process, int64_t *first, int64_t *last)
{
    const struct ws_ops *ops = &process->ops;
    const struct ws_call *calls = process->calls.data;
    struct claim span = { .first = INT64_MAX, .last = INT64_MIN };
    int64_t offset;
    if (!ws_process_realtime(process, &offset))
        return false;
    for (size_t i = 0; i < ops->count; i++) {
        if (ws_op_has_call(ops, i))
            model_jobs_widen(&span, ws_op_host_begin(ops, i), ws_op_host_end(ops, i));
        if (ws_op_is_timed(ops, i))
            model_jobs_widen(&span, ws_op_begin(ops, i), ws_op_end(ops, i));
    }
    for (size_t i = 0; i < process->calls.count; i++)
        model_jobs_widen(&span, calls[i].host_begin, calls[i].host_end);
    if (span.first > span.last)
        return false;
    *first = span.first + offset;
    *last = span.last + offset;
    return true;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Returns 0 or -ENOMEM. */
static int list_communicators(struct claim *claim)
{
    const struct ws_entries *comms = &claim->process->comms;
    const struct ws_comm *rows = comms->rows.data;
    claim->names = malloc((comms->rows.count + 1) * sizeof(*claim->names));
    if (!claim->names)
        return -ENOMEM;
    for (size_t i = 0; i < comms->rows.count; i++)
        if (rows[i].name_hash)
            claim->names[claim->name_count++] = rows[i].name_hash;
    qsort(claim->names, claim->name_count, sizeof(*claim->names), by_value);
    return 0;
}

static struct claim claim_of(const struct ws_process *process)
{
    static const char *const jobs[] = { "env.SLURM_JOB_ID", NULL };
    static const char *const worlds[] = { "world_size", "env.WORLD_SIZE", "env.SLURM_NTASKS", NULL };
    struct claim claim = { .process = process,
                           .job = first_known_fact(process, jobs),
                           .rank = model_jobs_rank_of(process),
                           .world = first_known_fact(process, worlds),
                           .host = ws_process_meta(process, "host"),
                           .program = ws_process_meta(process, "program"),
                           .pid = ws_process_meta(process, "pid"),
                           .parent = ws_process_meta(process, "parent_pid"),
                           .file = ws_process_meta(process, "import_file"),
                           .together = ws_process_meta(process, "together"),
                           .first = INT64_MAX,
                           .last = INT64_MIN };
    int64_t first, last;
    write_script(ws_process_meta(process, "command_line"), claim.script);
    if (ws_process_span(process, &first, &last)) {
        claim.first = first;
        claim.last = last;
    }
    return claim;
}

static bool are_equal(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

static bool overlap(const struct claim *a, const struct claim *b, int64_t slack)
{
    return a->first <= a->last && b->first <= b->last && a->first - slack <= b->last && b->first - slack <= a->last;
}

static bool have_times(const struct claim *a, const struct claim *b)
{
    return a->first <= a->last && b->first <= b->last;
}

static bool share_communicator(const struct claim *a, const struct claim *b)
{
    for (size_t i = 0, j = 0; i < a->name_count && j < b->name_count;) {
        if (a->names[i] == b->names[j])
            return true;
        if (a->names[i] < b->names[j])
            i++;
        else
            j++;
    }
    return false;
}

static bool is_refuted(const struct claim *a, const struct claim *b)
{
    int64_t slack = differ(a->rank, b->rank) || differ(a->host, b->host) ? MINUTE : 0;
    return differ(a->job, b->job) || differ(a->world, b->world) || are_equal(a->rank, b->rank) ||
           (have_times(a, b) && !overlap(a, b, slack) && !are_equal(a->together, b->together));
}

static bool is_tied(const struct claim *a, const struct claim *b)
{
    bool here = are_equal(a->host, b->host);
    if (are_equal(a->job, b->job) || share_communicator(a, b) || are_equal(a->together, b->together))
        return true;
    if (are_equal(a->world, b->world) && strcmp(a->world, "1") != 0 && differ(a->rank, b->rank))
        return true;
    if (here && (are_equal(a->pid, b->parent) || are_equal(b->pid, a->parent)))
        return true;
    return are_equal(a->program, b->program) && !strcmp(a->script, b->script) && overlap(a, b, 0);
}

/* Returns whether a process belongs to a job (jobs.h). A process belongs to the job of the other processes in its
 * file. Otherwise two conditions must hold. A tie (a fact that two recordings share) connects the process to at least
 * one process of the job. No refutation (a fact that excludes a common job) separates it from any process of the
 * job. */
static bool belongs(const struct claim *claims, const uint32_t *jobs, size_t count, uint32_t job, size_t process)
{
    bool tied = false, refuted = false;
    for (size_t i = 0; i < count; i++) {
        if (jobs[i] != job || i == process)
            continue;
        if (!strcmp(claims[i].process->path, claims[process].process->path) ||
            are_equal(claims[i].file, claims[process].file))
            return true;
        refuted = refuted || is_refuted(&claims[i], &claims[process]);
        tied = tied || is_tied(&claims[i], &claims[process]);
    }
    return tied && !refuted;
}

/* Stores the number of each process's job. Returns the number of jobs. */
static uint32_t number_jobs(const struct claim *claims, size_t count, uint32_t *jobs)
{
    uint32_t found = 0;
    /* Repeats until no process is added to the job, because each added process may tie further processes to the
     * job. */
    for (size_t first = 0; first < count; first++) {
        if (jobs[first] != WS_NOWHERE)
            continue;
        jobs[first] = found;
        for (bool grows = true; grows;) {
            grows = false;
            for (size_t i = first + 1; i < count; i++) {
                if (jobs[i] != WS_NOWHERE || !belongs(claims, jobs, count, found, i))
                    continue;
                jobs[i] = found;
                grows = true;
            }
        }
        found++;
    }
    return found;
}

int ws_jobs_find(const struct ws_model *model, uint32_t *jobs)
{
    size_t count = model->processes.count;
    struct claim *claims = calloc(count + 1, sizeof(*claims));
    int status = claims ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        claims[i] = claim_of(ws_model_process(model, i));
        status = list_communicators(&claims[i]);
        jobs[i] = WS_NOWHERE;
    }
    if (!status)
        status = (int)number_jobs(claims, count, jobs);
    for (size_t i = 0; i < count && claims; i++)
        free(claims[i].names);
    free(claims);
    return status;
}
