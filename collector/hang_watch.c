#include "collector/hang_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/minmax.h"
#include "collector/ask.h"
#include "collector/client.h"
#include "collector/hang.h"
#include "collector/process.h"
#include "collector/say.h"

enum {
    ASKED_TIMES = 4,   /* number of questions to each process within the allowed time, hang_ms */
    CONFIRM_MS = 3000, /* how long to wait for the answers of all processes of a job, before a hang is reported */
    WORKS_TIMES = 5,   /* while the awaited ranks compute on the host, a hang is reported only after this many times
                        * hang_ms */
};

static bool is_stuck(const struct recording *one, uint64_t hang_ms)
{
    return one->open && one->progress && progress_stuck_ms(one->progress) >= hang_ms;
}

static bool job_is_stuck(const struct job *job, uint64_t hang_ms)
{
    for (const struct recording *one = job->recordings; one; one = one->next)
        if (is_stuck(one, hang_ms))
            return true;
    return false;
}

static uint64_t longest_stuck_ms(const struct job *job)
{
    uint64_t longest = 0;
    for (const struct recording *one = job->recordings; one; one = one->next)
        if (one->open && one->progress)
            longest = ws_max(longest, progress_stuck_ms(one->progress));
    return longest;
}

/* Have all ranks that a collective waits for been busy on the host since this function was last called, for example
 * with a checkpoint? */
static bool missing_ranks_work(struct job *job, uint64_t now)
{
    unsigned missing = 0, work = 0;
    for (struct recording *one = job->recordings; one; one = one->next) {
        struct progress *progress = one->progress;
        if (!progress || !hang_is_missing(job, one))
            continue;
        uint64_t ns = one->open ? process_host_ns(one->identity.pid) : 0;
        bool more = ns >= progress->host_ns && ns - progress->host_ns >= (now - progress->host_ms) * 1000000 / 2;
        progress->works = more && ns && !progress->owes && !progress->head.threads;
        progress->host_ns = ns;
        progress->host_ms = now;
        missing++;
        work += progress->works;
    }
    return missing && work == missing;
}

/* Writes the text that describes a hang to a file in the job's folder. Called only if no dump was begun, because a
 * dump contains the same text. */
static void write_text(const struct job *job, const struct job_event *event, const char *text)
{
    char name[64];
    snprintf(name, sizeof(name), "hang-%.20s.txt", event->time);
    int file = openat(job->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    ssize_t ignored = write(file, text, strlen(text));
    (void)ignored;
    close(file);
}

static void tell(struct clients *clients, struct job *job, uint64_t now)
{
    struct job_event event;
    char summary[300], said[sizeof(event.text)];
    hang_summary(job, summary, sizeof(summary));
    snprintf(said, sizeof(said), "hang: %s", summary);
    char *text = hang_text(job, said, now);
    clients->hangs++;
    say("%s: %s", job->name, said);
    const struct dump_cause cause = { .kind = DUMP_HANG, .text = said, .more = text };
    int status = clients->dumps.flights.window_ms ? dump_begin(&clients->dumps, job, &cause, NULL, NULL) : -ENODATA;
    if (status) { /* a dump would have added the event to the manifest */
        job_event_init(&event, dump_word(DUMP_HANG), said);
        job_tell(job, &event);
        if (text)
            write_text(job, &event, text);
    }
    free(text);
}

/* Looks for a hang of the job, once a second. Before a hang is reported, all processes of the job are asked for their
 * progress once more, because some may have moved on since their last answer, and because all answers should describe
 * the same moment. */
static void watch(struct clients *clients, struct job *job, uint64_t now)
{
    bool stuck = job_is_stuck(job, clients->hang_ms);
    if (job->hang_said) {
        if (!stuck && ask_answered(job)) {
            say("%s: what hung goes on, or has ended", job->name);
            job->hang_said = false;
        }
    } else if (job->hang_asked_ms) {
        if (!ask_answered(job) && now - job->hang_asked_ms < CONFIRM_MS)
            return;
        job->hang_asked_ms = 0;
        bool works = stuck && missing_ranks_work(job, now);
        job->hang_said = stuck && (!works || longest_stuck_ms(job) >= WORKS_TIMES * clients->hang_ms);
        if (job->hang_said)
            tell(clients, job, now);
    } else if (stuck) {
        job->hang_asked_ms = now;
        missing_ranks_work(job, now);
        ask_job(clients, job);
    }
}

void hang_tick(struct clients *clients)
{
    uint64_t now = uv_now(clients->loop);
    if (!clients->hang_ms)
        return;
    for (struct job *job = clients->jobs.first; job; job = job->next)
        watch(clients, job, now);
    ask_due(clients, clients->hang_ms / ASKED_TIMES);
}
