/* `wallshim attach --all` starts a worker (a child process, attach_worker.h) for each process that it records. The
 * worker sends the descriptor of a file to the shim (the library that records) in the process, and the shim writes
 * its trace into that file. The shims do not send their traces to a collector, because processes in containers or of
 * other users could not reach its socket. The folder of the traces gets a manifest like that of a collector, so that
 * reports read the traces as one job. */
#include "attach_all.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach_crew.h"
#include "attach_manifest.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "command.h"

enum { LOOK_MS = 500 /* ms between two searches for new processes */ };
static const int64_t TOGETHER_NS = 2000000000; /* ns that the first ready worker waits for other workers */

/* These times are in ns of CLOCK_MONOTONIC. first_ready: when the first worker was ready; 0: not yet. released: when
 * workers were first allowed to begin; 0: not yet. ends_at: when the recordings end; 0: only at a signal. next_look:
 * when to search for new processes. */
static int64_t first_ready, released, ends_at, next_look;
static bool told_to_end;

static int64_t remaining(void)
{
    return ends_at ? ws_max(ends_at - ws_clock_ns(), INT64_C(1)) : 0;
}

static bool time_is_over(void)
{
    return ends_at && ws_clock_ns() >= ends_at;
}

/* --- together ------------------------------------------------------------------------------------- */

/* Lets the ready workers begin to record, once all workers are ready or the first ready one has waited for
 * TOGETHER_NS. From then on, lets each later worker begin as soon as it is ready. */
static void release(struct tool_crew *crew, uint64_t duration_ns)
{
    size_t ready = tool_crew_count(crew, TOOL_WORKER_READY, TOOL_WORKER_READY);
    int64_t now = ws_clock_ns();
    if (ready && !first_ready)
        first_ready = now;
    bool wait = !released && tool_crew_count(crew, TOOL_WORKER_PREPARES, TOOL_WORKER_PREPARES) &&
                now - first_ready < TOGETHER_NS;
    if (!ready || wait)
        return;
    if (!released) {
        released = now;
        ends_at = duration_ns ? now + (int64_t)ws_min(duration_ns, (uint64_t)(INT64_MAX - now)) : 0;
    }
    for (size_t i = 0; i < crew->members.count; i++) {
        struct tool_member *member = tool_crew_member(crew, i);
        if (member->worker.pid <= 0 || member->state != TOOL_WORKER_READY)
            continue;
        member->state = TOOL_WORKER_BEGINS;
        tool_worker_release(&member->worker, (uint64_t)remaining());
    }
}

/* Prints one line on the processes that are recorded since the last such line. Prints nothing while a worker is about
 * to begin, because the line should count all processes that begin together. */
static void announce(struct tool_crew *crew)
{
    static bool any;
    if (tool_crew_count(crew, TOOL_WORKER_BEGINS, TOOL_WORKER_BEGINS))
        return;
    size_t news = 0, last = 0;
    for (size_t i = 0; i < crew->members.count; i++) {
        struct tool_member *member = tool_crew_member(crew, i);
        if (member->refused || member->announced || member->state != TOOL_WORKER_RECORDS)
            continue;
        member->announced = true;
        last = i;
        news++;
    }
    const struct ws_process_facts *process = news ? &tool_crew_member(crew, last)->process : NULL;
    if (any && news == 1)
        tool_say("recording %s (%d) as well", process->name, process->pid);
    else if (news)
        tool_say("recording %zu %sprocess%s into %s%s", news, any ? "more " : "", news == 1 ? "" : "es", crew->folder,
                 ends_at || any ? "" : "; Ctrl-C ends it");
    any |= news > 0;
}

/* --- the loop ------------------------------------------------------------------------------------- */

static void hear_member(struct tool_member *member)
{
    const char *why = tool_crew_hear(member);
    if (why && !told_to_end && !time_is_over())
        tool_say("%s (%d): %s", member->process.name, member->process.pid, why);
}

/* Waits for messages of workers and for signals, for LOOK_MS / 2 ms at most. Returns whether a worker has sent a
 * message or has ended. */
static bool hear_all(struct tool_crew *crew, int signals, struct pollfd *polled)
{
    bool heard = false;
    for (size_t i = 0; i < crew->members.count; i++)
        polled[i] = (struct pollfd){ .fd = tool_crew_member(crew, i)->worker.socket, .events = POLLIN };
    polled[crew->members.count] = (struct pollfd){ .fd = told_to_end ? -1 : signals, .events = POLLIN };
    if (poll(polled, crew->members.count + 1, LOOK_MS / 2) <= 0)
        return false;
    for (size_t i = 0; i < crew->members.count; i++) {
        if (!polled[i].revents)
            continue;
        hear_member(tool_crew_member(crew, i));
        heard = true;
    }
    if (polled[crew->members.count].revents) {
        told_to_end = true;
        tool_crew_end(crew);
    }
    return heard;
}

static int look_for_more(struct tool_crew *crew)
{
    int64_t now = ws_clock_ns();
    if (told_to_end || !released || now < next_look || (ends_at && ends_at - now < LOOK_MS * INT64_C(1000000)))
        return 0;
    next_look = now + LOOK_MS * INT64_C(1000000);
    return tool_crew_find(crew);
}

/* Writes the manifest. A failure only prints a line, because the traces can be read without the manifest. */
static void note_members(const struct tool_crew *crew)
{
    static bool said;
    bool any = tool_crew_count(crew, TOOL_WORKER_RECORDS, TOOL_WORKER_GONE);
    int error = any ? tool_attach_manifest_write(crew) : 0;
    if (error && !said)
        tool_error("attach --all: %s/manifest.json: %s", crew->folder, strerror(-error));
    said |= error != 0;
}

static int record_crew(struct tool_crew *crew, int signals, uint64_t duration_ns)
{
    int status = 0;
    while (!status && tool_crew_count(crew, TOOL_WORKER_PREPARES, TOOL_WORKER_RECORDS)) {
        struct pollfd *polled = calloc(crew->members.count + 1, sizeof(*polled));
        if (!polled)
            return tool_error("out of memory");
        bool heard = hear_all(crew, signals, polled);
        free(polled);
        release(crew, duration_ns);
        announce(crew);
        if (heard)
            note_members(crew);
        status = look_for_more(crew);
    }
    return status;
}

/* Waits until all workers have ended, and writes the manifest a last time. */
static void let_crew_go(struct tool_crew *crew)
{
    for (size_t i = 0; i < crew->members.count; i++)
        while (tool_crew_member(crew, i)->worker.pid > 0)
            hear_member(tool_crew_member(crew, i));
    note_members(crew);
}

static int attach_all_conclude(const struct tool_crew *crew)
{
    size_t traces = tool_crew_count(crew, TOOL_WORKER_ENDED, TOOL_WORKER_GONE);
    if (!crew->members.count)
        return tool_error("attach --all %d: no process at or below it has loaded the CUDA driver, or sleeps under "
                          "wallshim; daemons that have left it are not below it",
                          crew->launcher->pid);
    if (!traces)
        return tool_error("attach --all %d: none of its %zu CUDA processes could be recorded", crew->launcher->pid,
                          crew->members.count);
    tool_say("wrote %zu trace%s; next: wallshim report %s", traces, traces == 1 ? "" : "s", crew->folder);
    return 0;
}

int tool_attach_all(const struct ws_process_facts *launcher, const char *folder, const struct ws_attach_message *wish)
{
    static struct tool_crew crew;
    crew = (struct tool_crew){
        .launcher = launcher, .wish = *wish, .wanted = folder, .members = WS_VECTOR(struct tool_member)
    };
    sigprocmask(SIG_SETMASK, NULL, &crew.mask);
    int signals = tool_watch_end();
    int status = tool_crew_find(&crew);
    if (!status)
        status = record_crew(&crew, signals, wish->duration_ns);
    if (status)
        tool_crew_end(&crew);
    let_crew_go(&crew);
    if (!status)
        status = attach_all_conclude(&crew);
    tool_crew_finish(&crew);
    return status;
}
