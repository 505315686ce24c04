#include "collector/hang_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/minmax.h"
#include "collector/client.h"
#include "collector/hang.h"
#include "collector/say.h"

enum {
    ASKED_TIMES = 4,   /* within the allowed time */
    CONFIRM_MS = 3000, /* for all processes of a job to answer before a hang is said */
};

static struct job *job_of(const struct client *client)
{
    return jobs_get(&client->all->jobs, client->hello.job, false);
}

static void ask(struct client *client, uint64_t now)
{
    struct recording *recording = client->recording;
    uint8_t bytes[WS_CHANNEL_START_SIZE];
    if (!recording->progress)
        recording->progress = calloc(1, sizeof(*recording->progress));
    if (!recording->progress)
        return;
    ws_channel_write(bytes, WS_CHANNEL_CONTROL, WS_CHANNEL_FLUSH, 0);
    if (send(client->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
    if (!recording->progress->owes)
        recording->progress->asked_ms = now;
    recording->progress->owes = true;
}

bool hang_answer(struct client *client, const uint8_t *bytes, size_t size)
{
    struct recording *recording = client->recording;
    return recording && recording->progress &&
           progress_take(recording->progress, bytes, size, uv_now(client->all->loop));
}

/* Asks all, or those of one job. */
static void ask_all(struct clients *clients, const struct job *job, uint64_t now)
{
    for (struct client *client = clients->first; client; client = client->next) {
        if (!client->greeted || !client->recording || client->resuming || *client->from ||
            (job && job_of(client) != job))
            continue;
        const struct progress *progress = client->recording->progress;
        bool due = !progress || (!progress->owes && now - progress->asked_ms >= clients->hang_ms / ASKED_TIMES);
        if (job || due)
            ask(client, now);
    }
}

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

static bool all_answered(const struct job *job)
{
    for (const struct recording *one = job->recordings; one; one = one->next)
        if (one->open && one->progress && one->progress->owes)
            return false;
    return true;
}

/* Where there is no flight recorder, the text goes into the job's folder itself. */
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
    struct job_event event = { .cause = "hang" };
    struct timespec clock;
    struct tm parts;
    char summary[300];
    hang_summary(job, summary, sizeof(summary));
    snprintf(event.text, sizeof(event.text), "hang: %s", summary);
    char *text = hang_text(job, event.text, now);
    clients->hangs++;
    say("%s: %s", job->name, event.text);
    const struct dump_cause cause = { .word = "hang", .text = event.text, .automatic = true, .more = text };
    int status = clients->dumps.flights.window_ms ? dump_begin(&clients->dumps, job, &cause, NULL, NULL) : -ENODATA;
    if (status) { /* a dump tells the manifest itself */
        clock_gettime(CLOCK_REALTIME, &clock);
        gmtime_r(&clock.tv_sec, &parts);
        strftime(event.time, sizeof(event.time), "%Y-%m-%dT%H:%M:%SZ", &parts);
        job_tell(job, &event);
        if (text)
            write_text(job, &event, text);
    }
    free(text);
}

/* Before a hang is said, all processes of the job answer once more: they moved on between two ticks, and so that all
 * tell of the same moment. */
static void watch(struct clients *clients, struct job *job, uint64_t now)
{
    bool stuck = job_is_stuck(job, clients->hang_ms);
    if (job->hang_said) {
        if (!stuck && all_answered(job)) {
            say("%s: what hung goes on, or has ended", job->name);
            job->hang_said = false;
        }
    } else if (job->hang_asked_ms) {
        if (!all_answered(job) && now - job->hang_asked_ms < CONFIRM_MS)
            return;
        job->hang_asked_ms = 0;
        job->hang_said = stuck;
        if (stuck)
            tell(clients, job, now);
    } else if (stuck) {
        job->hang_asked_ms = now;
        ask_all(clients, job, now);
    }
}

void hang_tick(struct clients *clients)
{
    uint64_t now = uv_now(clients->loop);
    if (!clients->hang_ms)
        return;
    for (struct job *job = clients->jobs.first; job; job = job->next)
        watch(clients, job, now);
    ask_all(clients, NULL, now);
}
