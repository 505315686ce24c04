#include "collector/remains.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/say.h"
#include "trace/salvage.h"

enum { EXEC_MS = 5000 }; /* a process that still lives so long after its connection ended has called exec */

struct remains {
    struct remains *next;
    struct remains_list *list;
    uv_poll_t poll; /* polls `process` */
    uv_work_t work;
    int process; /* pidfd; -1: it could not be opened */
    int memory;
    uint64_t since; /* when the connection ended, in ms of uv_now() */
    struct job *job;
    struct recording *recording;
    char path[64 + NAME_SIZE];
    bool polls, working;
    int status;
    struct ws_salvaged salvaged;
};

int remains_check(int memory)
{
    struct stat about;
    int seals = fcntl(memory, F_GET_SEALS);
    /* Accept only regular files that cannot shrink. Reading another file could crash or block the collector. */
    if (seals >= 0 && seals & F_SEAL_SHRINK && !fstat(memory, &about) && S_ISREG(about.st_mode))
        return memory;
    close(memory);
    return -1;
}

/* --- the end ------------------------------------------------------------------------------------ */

static void free_remains(uv_handle_t *handle)
{
    free(handle->data);
}

static void remains_close(struct remains *remains)
{
    struct remains **link = &remains->list->first;
    while (*link != remains)
        link = &(*link)->next;
    *link = remains->next;
    close(remains->memory);
    if (remains->process >= 0)
        close(remains->process);
    if (remains->polls)
        uv_close((uv_handle_t *)&remains->poll, free_remains);
    else
        free(remains);
}

static void note(struct remains *remains)
{
    struct recording *recording = remains->recording;
    const struct figures_source source = {
        .job = remains->job->name, .host = recording->host, .rank = recording->rank, .pid = recording->identity.pid
    };
    struct stat about;
    recording->open = false;
    figures_salvage(remains->list->figures, &source, remains->status ? 0 : remains->salvaged.rows);
    if (remains->status == -ENOMSG)
        snprintf(recording->ended, sizeof(recording->ended), "killed before it had begun the trace");
    else if (remains->status)
        snprintf(recording->ended, sizeof(recording->ended), "killed; its last records are lost: %s",
                 strerror(-remains->status));
    else if (remains->salvaged.ended)
        snprintf(recording->ended, sizeof(recording->ended), "gone without goodbye; its end was saved");
    else
        snprintf(recording->ended, sizeof(recording->ended), "%s; %llu last rows were saved",
                 remains->salvaged.left ? "ended without exit" : "killed",
                 (unsigned long long)remains->salvaged.rows);
    if (!fstatat(remains->job->folder, recording->file, &about, AT_SYMLINK_NOFOLLOW))
        recording->bytes = (uint64_t)about.st_size;
    if (remains->salvaged.frames)
        recording->frames = remains->salvaged.frames;
    remains->job->changed = true;
    say("process %d: %s", (int)recording->identity.pid, recording->ended);
    /* After its connection had ended, the process may have written the whole trace into a file of its own. Then the
     * collector's trace is a duplicate, as in drop_duplicate (client.c). */
    if (ws_salvage_is_elsewhere(remains->memory))
        job_drop_duplicate(remains->job, recording);
    remains_close(remains);
}

/* --- salvage ------------------------------------------------------------------------------------ */

static void salvage(struct remains *remains)
{
    remains->status = ws_salvage(remains->memory, remains->path, &remains->salvaged);
}

static void salvage_in_thread(uv_work_t *work)
{
    salvage(work->data);
}

static void after_salvage(uv_work_t *work, int status)
{
    struct remains *remains = work->data;
    remains->working = false;
    remains->status = status ? status : remains->status;
    note(remains);
}

/* Completes the trace in another thread, because a trace may be large, and the event loop must go on serving the
 * other processes. */
static void begin_salvage(struct remains *remains)
{
    if (remains->working)
        return;
    if (remains->polls)
        uv_poll_stop(&remains->poll);
    remains->working = true;
    remains->work.data = remains;
    if (uv_queue_work(remains->list->loop, &remains->work, salvage_in_thread, after_salvage))
        after_salvage(&remains->work, -ENOMEM);
}

static bool has_ended(const struct remains *remains)
{
    struct pollfd look = { .fd = remains->process, .events = POLLIN };
    return remains->process < 0 ? kill(remains->recording->identity.pid, 0) && errno == ESRCH : poll(&look, 1, 0) > 0;
}

static void on_end(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    begin_salvage(poll->data);
}

/* --- for the clients ---------------------------------------------------------------------------- */

bool remains_are_due(int memory)
{
    return memory >= 0 && ws_salvage_is_due(memory);
}

bool remains_keep(struct remains_list *list, int memory, pid_t pid, struct job *job, struct recording *recording)
{
    struct remains *remains = calloc(1, sizeof(*remains));
    if (!remains)
        return false;
    *remains = (struct remains){ .list = list, .memory = memory, .job = job, .recording = recording };
    remains->process = (int)syscall(SYS_pidfd_open, pid, 0);
    remains->since = uv_now(list->loop);
    snprintf(remains->path, sizeof(remains->path), "/proc/self/fd/%d/%s", job->folder, recording->file);
    remains->next = list->first;
    list->first = remains;
    recording->open = true;
    bool gone = remains->process < 0 && errno == ESRCH;
    remains->poll.data = remains;
    remains->polls = remains->process >= 0 && !uv_poll_init(list->loop, &remains->poll, remains->process);
    if (gone)
        begin_salvage(remains);
    else if (remains->polls)
        uv_poll_start(&remains->poll, UV_READABLE, on_end);
    return true;
}

bool remains_drop(struct remains_list *list, const struct recording *recording)
{
    for (struct remains *remains = list->first; remains; remains = remains->next) {
        if (remains->recording != recording)
            continue;
        if (!remains->working)
            remains_close(remains);
        else
            return false;
        return true;
    }
    return true;
}

void remains_tick(struct remains_list *list)
{
    for (struct remains *remains = list->first, *next; remains; remains = next) {
        next = remains->next;
        if (has_ended(remains) || uv_now(list->loop) - remains->since > EXEC_MS)
            begin_salvage(remains);
    }
}

void remains_end(struct remains_list *list)
{
    for (struct remains *remains = list->first, *next; remains; remains = next) {
        next = remains->next;
        if (remains->working)
            continue;
        if (has_ended(remains)) {
            salvage(remains);
            note(remains);
        } else {
            remains->recording->open = false;
            remains_close(remains);
        }
    }
    while (list->first)
        uv_run(list->loop, UV_RUN_ONCE);
}
