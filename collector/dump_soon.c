#include "collector/dump_soon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/ask.h"
#include "collector/client.h"

enum { PATIENCE_MS = 3000 };

struct dump_wait {
    struct dump_wait *next;
    struct job *job; /* job->dumps counts this dump, so that make_room in job.c does not free the job */
    enum dump_kind kind;
    char text[sizeof(((struct job_event *)0)->text)];
    dump_done done;
    void *data;
    uint64_t until_ms;
};

static bool has_any(const struct job *job)
{
    const struct recording *one = job->recordings;
    while (one && !(one->flight && one->flight->has_header))
        one = one->next;
    return one;
}

int dump_soon(struct clients *clients, struct job *job, const struct dump_cause *cause, dump_done done, void *data)
{
    for (const struct dump_wait *other = clients->dumps.waiting; other; other = other->next)
        if (other->job == job)
            return -EALREADY;
    struct dump_wait *wait = has_any(job) ? calloc(1, sizeof(*wait)) : NULL;
    if (!wait)
        return has_any(job) ? -ENOMEM : -ENODATA;
    *wait = (struct dump_wait){ .next = clients->dumps.waiting,
                                .job = job,
                                .kind = cause->kind,
                                .done = done,
                                .data = data,
                                .until_ms = uv_now(clients->loop) + PATIENCE_MS };
    snprintf(wait->text, sizeof(wait->text), "%s", cause->text);
    clients->dumps.waiting = wait;
    job->dumps++;
    ask_job(clients, job);
    return 0;
}

static void begin(struct clients *clients, struct dump_wait *wait)
{
    const struct dump_cause cause = { .kind = wait->kind, .text = wait->text };
    wait->job->dumps--;
    int status = dump_begin(&clients->dumps, wait->job, &cause, wait->done, wait->data);
    if (status && wait->done)
        wait->done(wait->data, &(const struct dump_result){ .folder = wait->job->name, .error = status });
    free(wait);
}

static void look(struct clients *clients, bool all)
{
    uint64_t now = uv_now(clients->loop);
    for (struct dump_wait **link = &clients->dumps.waiting, *wait; (wait = *link);) {
        if (!all && now < wait->until_ms && !ask_answered(wait->job)) {
            link = &wait->next;
            continue;
        }
        *link = wait->next;
        begin(clients, wait);
    }
}

void dump_soon_look(struct clients *clients)
{
    look(clients, false);
}

void dump_soon_end(struct clients *clients)
{
    look(clients, true);
}

void dump_soon_forget(struct clients *clients, const void *data)
{
    for (struct dump_wait *wait = clients->dumps.waiting; wait; wait = wait->next)
        if (wait->data == data)
            wait->done = NULL;
}

/* A slow step is slow in all ranks of a job, and one dump holds the records of all ranks. So a job gets at most one
 * dump for slow steps within the flight recorder's window (the time whose frames are in its memory). */
void dump_slow_step(struct client *client)
{
    struct clients *all = client->all;
    struct rhythm_step step;
    if (!figures_slow_step(client->figures, &step) || !all->dumps.flights.window_ms)
        return;
    struct job *job = jobs_get(&all->jobs, client->hello.job, false);
    uint64_t now = uv_now(all->loop);
    if (job->slow_ms && now - job->slow_ms < all->dumps.flights.window_ms)
        return;
    job->slow_ms = now;
    char text[160];
    snprintf(text, sizeof(text), "slow step: rank %.16s, process %d: %.4g ms, %.3g times the median of %.4g ms",
             *client->recording->rank ? client->recording->rank : "unknown", (int)client->peer.pid,
             (double)step.took_ns / 1e6, (double)step.took_ns / (double)step.median_ns, (double)step.median_ns / 1e6);
    const struct dump_cause cause = { .kind = DUMP_SLOW_STEP, .text = text };
    dump_soon(all, job, &cause, NULL, NULL);
}
