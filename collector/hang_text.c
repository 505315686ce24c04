#include "collector/hang.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "collector/process.h"

enum { THREADS_SHOWN = 64, RANKS_MAX = 4096 };

/* --- who is in which collective ----------------------------------------------------------------- */

/* The collective that was launched first, of those that have not ended. */
struct awaited {
    uint64_t comm, sequence;
    uint32_t size;
    const char *name;
    unsigned inside, outside; /* numbers of known ranks that have entered this collective, and that have not */
    bool known[RANKS_MAX];
};

static const struct ws_progress_comm *comm_of(const struct recording *one, uint64_t name)
{
    for (uint32_t i = 0; one->progress && i < one->progress->head.comms; i++)
        if (one->progress->comms[i].name_hash == name)
            return &one->progress->comms[i];
    return NULL;
}

static bool find_awaited(const struct job *job, struct awaited *awaited)
{
    int64_t oldest = INT64_MAX;
    for (const struct recording *one = job->recordings; one; one = one->next)
        for (uint32_t i = 0; one->progress && i < one->progress->head.comms; i++) {
            const struct ws_progress_comm *comm = &one->progress->comms[i];
            if (!comm->open || !comm->name_hash || comm->open_op.launched_ns >= oldest || *one->ended)
                continue;
            oldest = comm->open_op.launched_ns;
            awaited->comm = comm->name_hash;
            awaited->sequence = comm->open;
            awaited->size = comm->size;
            awaited->name = comm->open_op.name;
        }
    for (const struct recording *one = job->recordings; one && oldest < INT64_MAX; one = one->next) {
        const struct ws_progress_comm *comm = comm_of(one, awaited->comm);
        if (!comm || comm->rank >= RANKS_MAX || awaited->known[comm->rank])
            continue;
        awaited->known[comm->rank] = true;
        awaited->outside += comm->entered < awaited->sequence;
        awaited->inside += comm->entered >= awaited->sequence;
    }
    return oldest < INT64_MAX;
}

bool hang_is_missing(const struct job *job, const struct recording *one)
{
    struct awaited *awaited = calloc(1, sizeof(*awaited));
    const struct ws_progress_comm *comm = awaited && find_awaited(job, awaited) ? comm_of(one, awaited->comm) : NULL;
    bool missing = comm && comm->entered < awaited->sequence;
    free(awaited);
    return missing;
}

/* Writes the ranks that have not entered the collective: "rank 5", "ranks 2, 5". */
static void list_outside(const struct job *job, const struct awaited *awaited, char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "%s", awaited->outside == 1 ? "rank" : "ranks");
    const char *mark = " ";
    for (const struct recording *one = job->recordings; one; one = one->next) {
        const struct ws_progress_comm *comm = comm_of(one, awaited->comm);
        if (!comm || comm->entered >= awaited->sequence || used > capacity - 16)
            continue;
        used += (size_t)snprintf(text + used, capacity - used, "%s%u", mark, comm->rank);
        mark = ", ";
    }
}

static void summarize_device(const struct job *job, char *text, size_t capacity)
{
    for (const struct recording *one = job->recordings; one; one = one->next) {
        const struct progress *progress = one->progress;
        if (!progress || *one->ended || !progress_stuck_ms(progress))
            continue;
        if (progress->head.streams)
            snprintf(text, capacity, "process %d, rank %.16s: %.96s on GPU %u has not ended", (int)one->identity.pid,
                     *one->rank ? one->rank : "unknown", progress->streams[0].first.name,
                     progress->streams[0].device - 1);
        else
            snprintf(text, capacity, "process %d, rank %.16s: a call of %s has not returned", (int)one->identity.pid,
                     *one->rank ? one->rank : "unknown", progress->threads[0].in_nccl ? "NCCL" : "CUDA");
        return;
    }
    snprintf(text, capacity, "nothing moves");
}

void hang_summary(const struct job *job, char *text, size_t capacity)
{
    struct awaited *awaited = calloc(1, sizeof(*awaited));
    char ranks[128];
    if (!awaited || !find_awaited(job, awaited)) {
        summarize_device(job, text, capacity);
    } else if (awaited->outside) {
        list_outside(job, awaited, ranks, sizeof(ranks));
        snprintf(text, capacity,
                 "%s %s not in %.32s number %" PRIu64 " of communicator %016" PRIx64 "; %u of %u ranks wait for %s",
                 ranks, awaited->outside == 1 ? "is" : "are", awaited->name, awaited->sequence, awaited->comm,
                 awaited->inside, awaited->size, awaited->outside == 1 ? "it" : "them");
    } else {
        snprintf(text, capacity,
                 "%u of %u ranks are in %.32s number %" PRIu64 " of communicator %016" PRIx64
                 ", and it does not end%s",
                 awaited->inside, awaited->size, awaited->name, awaited->sequence, awaited->comm,
                 awaited->inside < awaited->size ? "; the others are not known here" : "");
    }
    free(awaited);
    ws_make_printable(text);
}

/* --- threads ------------------------------------------------------------------------------------ */

/* Reads the first line of a file of /proc. Sets `line` to "" if the file cannot be read. */
static void read_line(const char *folder, const char *task, const char *name, char line[256])
{
    char path[384];
    snprintf(path, sizeof(path), "%s/%.16s/%s", folder, task, name);
    FILE *file = fopen(path, "re");
    *line = 0;
    if (file && !fgets(line, 256, file))
        *line = 0;
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = 0;
}

static void put_threads(FILE *out, const struct recording *one)
{
    char folder[64], name[256], stat[256], place[256], call[256];
    unsigned shown = 0;
    snprintf(folder, sizeof(folder), "/proc/%d/task", (int)one->identity.pid);
    bool same = process_start_time(one->identity.pid) == one->identity.start_time;
    DIR *tasks = same ? opendir(folder) : NULL;
    if (!tasks)
        fprintf(out, "  its threads cannot be looked at\n");
    for (struct dirent *task; tasks && shown < THREADS_SHOWN && (task = readdir(tasks));) {
        if (*task->d_name == '.')
            continue;
        read_line(folder, task->d_name, "comm", name);
        read_line(folder, task->d_name, "stat", stat);
        read_line(folder, task->d_name, "wchan", place);
        read_line(folder, task->d_name, "syscall", call);
        const char *state = strrchr(stat, ')');
        call[strcspn(call, " ")] = 0;
        ws_make_printable(name);
        fprintf(out, "  thread %s %s: %c%s%s%s%s\n", task->d_name, name, state && state[1] ? state[2] : '?',
                *place && strcmp(place, "0") != 0 ? ", waits in " : "",
                *place && strcmp(place, "0") != 0 ? place : "", *call ? ", system call " : "", call);
        shown++;
    }
    if (tasks)
        closedir(tasks);
}

/* --- everything --------------------------------------------------------------------------------- */

static double seconds_before(const struct progress *progress, int64_t time)
{
    return ((double)progress->head.now_ns - (double)time) / 1e9; /* in double: clients may send any number, and
                                                                  * integers could overflow */
}

static void put_progress(FILE *out, const struct progress *progress, uint64_t now_ms)
{
    if (progress->works)
        fprintf(out, "  it computes on the host\n");
    if (progress->owes)
        fprintf(out, "  it does not answer; what follows is %.1f s old\n",
                (double)(now_ms - progress->answered_ms) / 1000);
    for (uint32_t i = 0; i < progress->head.comms; i++) {
        const struct ws_progress_comm *comm = &progress->comms[i];
        fprintf(out, "  communicator %016" PRIx64 ", rank %u of %u: last entered %s number %" PRIu64, comm->name_hash,
                comm->rank, comm->size, *comm->entered_op.name ? comm->entered_op.name : "nothing", comm->entered);
        if (comm->open)
            fprintf(out, "; %s number %" PRIu64 " has not ended since %.1f s\n", comm->open_op.name, comm->open,
                    seconds_before(progress, comm->open_op.launched_ns));
        else
            fprintf(out, "; all of them have ended\n");
    }
    for (uint32_t i = 0; i < progress->head.streams; i++)
        fprintf(out, "  GPU %u, stream %u: %s was launched %.1f s before and has not ended; %" PRIu64 " wait\n",
                progress->streams[i].device - 1, progress->streams[i].stream, progress->streams[i].first.name,
                seconds_before(progress, progress->streams[i].first.launched_ns), progress->streams[i].waiting);
    if (progress->head.last.launched_ns)
        fprintf(out, "  launched last: %s, %.1f s before\n", progress->head.last.name,
                seconds_before(progress, progress->head.last.launched_ns));
    for (uint32_t i = 0; i < progress->head.threads; i++)
        fprintf(out, "  thread %d is within a call of %s\n", (int)progress->threads[i].tid,
                progress->threads[i].in_nccl ? "NCCL" : "CUDA");
}

char *hang_text(const struct job *job, const char *summary, uint64_t now_ms)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s\n", summary);
    for (const struct recording *one = job->recordings; one; one = one->next) {
        fprintf(out, "\nprocess %d, rank %s, %s%s%s\n", (int)one->identity.pid, *one->rank ? one->rank : "unknown",
                one->file, *one->ended ? ": " : "", one->ended);
        if (one->progress && one->progress->answered_ms)
            put_progress(out, one->progress, now_ms);
        else
            fprintf(out, "  it has never said how far it is\n");
        if (!*one->ended)
            put_threads(out, one);
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    for (char *at = text; *at; at++) /* names from programs may hold control characters */
        if (*at != '\n' && (unsigned char)*at < ' ')
            *at = '?';
    return text;
}
