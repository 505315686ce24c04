#include "collector/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "collector/ask.h"
#include "collector/control.h"
#include "collector/dump_soon.h"
#include "collector/identify.h"
#include "collector/process.h"
#include "collector/receive.h"
#include "collector/say.h"
#include "trace/salvage.h"

enum { MESSAGES_A_TURN = 32 }; /* messages read from one client before the other clients are served */

/* --- the end of a connection -------------------------------------------------------------------- */

static void free_client(uv_handle_t *handle)
{
    free(handle->data);
}

void client_close(struct client *client, const char *ended)
{
    struct clients *all = client->all;
    struct client **link = &all->first;
    if (client->closing)
        return;
    client->closing = true;
    while (*link != client)
        link = &(*link)->next;
    *link = client->next;
    all->count--;
    if (client->recording) {
        struct recording *recording = client->recording;
        recording->open = false;
        if (!*recording->ended)
            snprintf(recording->ended, sizeof(recording->ended), "%s", ended);
        jobs_get(&all->jobs, client->hello.job, false)->changed = true;
        if (client->file >= 0)
            close(client->file);
    }
    dump_soon_forget(all, client);
    dumps_forget(&all->dumps, client);
    if (client->memory >= 0)
        close(client->memory);
    stream_finish(&client->stream);
    if (client->recording && !client->resuming)
        client->recording->stream = client->stream;
    figures_close(client->figures);
    uv_poll_stop(&client->poll);
    close(client->fd);
    uv_close((uv_handle_t *)&client->poll, free_client);
}

static void answer(struct client *client, enum ws_channel_kind kind, uint64_t number)
{
    uint8_t bytes[WS_CHANNEL_START_SIZE];
    ws_channel_write(bytes, kind, number, 0);
    ssize_t sent = send(client->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
    client->owes = kind == WS_CHANNEL_TAKEN && sent < 0 && errno == EAGAIN;
}

void client_cut_off(struct client *client, enum ws_channel_reason reason, size_t bytes)
{
    char ended[96];
    struct clients *all = client->all;
    snprintf(ended, sizeof(ended), "cut off: %s", ws_channel_reason_text(reason));
    bytes += client->stream.size; /* bytes that were received earlier, but not written yet */
    answer(client, WS_CHANNEL_REFUSED, reason);
    all->cut_off++;
    if (client->recording) {
        client->recording->refused_bytes += bytes;
        figures_refuse(client->figures, bytes);
    } else {
        all->jobs.refused_clients++;
        all->jobs.refused_bytes += bytes;
    }
    if (all->cut_off <= 20) /* a client that reconnects again and again must not fill the log */
        say("process %d%s%s is cut off: %s", (int)client->peer.pid, *client->from ? " of " : "", client->from,
            ws_channel_reason_text(reason));
    client_close(client, ended);
}

/* --- the trace ---------------------------------------------------------------------------------- */

static bool flies(const struct client *client)
{
    return client->all->dumps.flights.window_ms != 0;
}

/* Adds the client's recording to the job. Returns the descriptor of the trace's new file; -1 if the trace goes to the
 * flight recorder (in memory) instead; or another negative number, an -errno. */
static int add_recording(struct client *client, struct job *job, struct recording **recording)
{
    if (!flies(client))
        return job_add(job, &client->identity, client->hello.file, recording);
    struct flight *flight = flight_create(&client->all->dumps.flights);
    int status = flight ? job_add_in_memory(job, &client->identity, client->hello.file, recording) : -ENOMEM;
    if (status)
        flight_destroy(flight);
    else
        (*recording)->flight = flight;
    return status ? status : -1;
}

/* Adds the client's trace to its job. Creates the trace's file, unless the trace is kept in memory (--flight). Called
 * only when the first bytes of the trace are to be written, so that a client that never sends a trace leaves no
 * file. */
static int make_recording(struct client *client)
{
    struct jobs *jobs = &client->all->jobs;
    struct job *job = jobs_get(jobs, client->hello.job, true);
    struct recording *recording = NULL;
    int file = job ? add_recording(client, job, &recording) : jobs_are_full(jobs) ? -EUSERS : -ENOENT;
    if (!recording)
        return file == -EDQUOT || file == -EUSERS || file == -ENOMEM ? file : -ENOENT;
    client->recording = recording;
    recording->uid = client->peer.uid;
    recording->open = true;
    snprintf(recording->host, sizeof(recording->host), "%s", client->hello.host);
    snprintf(recording->rank, sizeof(recording->rank), "%s", client->hello.rank);
    client->file = file;
    /* Write the recording into the job's manifest before any byte of the trace. If the collector is killed and
     * started again, the manifest then tells the new collector which process the file belongs to. */
    job->changed = true;
    manifest_note(job, recording);
    client_watch(client);
    return 0;
}

/* Cuts an incomplete frame (block of records) off the end of a file that was reopened for a reconnected client.
 * Called only once the client sends more of the trace, or has ended. */
static int trim(struct client *client)
{
    int status = client->to_trim ? job_trim(client->file, &client->stream) : 0;
    client->to_trim = client->to_trim && status;
    return status;
}

static int write_to_file(struct client *client, const uint8_t *unit, size_t size)
{
    uint64_t at = client->stream.taken;
    if (at > client->all->size_limit || size > client->all->size_limit - at)
        return -EFBIG;
    if (trim(client))
        return -EIO;
    for (size_t done = 0; done < size;) {
        ssize_t written = pwrite(client->file, unit + done, size - done, (off_t)(at + done));
        if (written > 0) {
            done += (size_t)written;
        } else if (!written || errno != EINTR) {
            bool full = !written || errno == ENOSPC || errno == EDQUOT; /* clients_tick tries to write again */
            int ignored = ftruncate(client->file, (off_t)at);           /* half a frame would make the file damaged */
            (void)ignored;
            return full ? -ENOSPC : -EIO;
        }
    }
    return 0;
}

static int take_unit(void *data, const uint8_t *unit, size_t size)
{
    struct client *client = data;
    int status = client->recording ? 0 : make_recording(client);
    if (!status)
        status = client->recording->flight
                     ? flight_add(client->recording->flight, unit, size, uv_now(client->all->loop))
                     : write_to_file(client, unit, size);
    if (!status) {
        figures_add(client->figures, unit, size);
        dump_slow_step(client);
    }
    return status;
}

/* Sets recording->bytes to the number of bytes of the trace that are stored, and sends this number to the client.
 * Returns whether the number has changed. */
static bool note_taken(struct client *client)
{
    struct recording *recording = client->recording;
    if (!recording || recording->bytes == client->stream.taken)
        return false;
    recording->bytes = client->stream.taken;
    recording->frames = client->stream.frames;
    jobs_get(&client->all->jobs, client->hello.job, false)->changed = true;
    answer(client, WS_CHANNEL_TAKEN, client->stream.taken);
    return true;
}

static void after_units(struct client *client, int status, size_t bytes)
{
    bool farther = note_taken(client);
    client->stuck = status == -ENOSPC;
    if (!client->stream.size || client->stuck)
        client->unit_since = 0;
    else if (farther || !client->unit_since)
        client->unit_since = uv_now(client->all->loop);
    if (!status || client->stuck)
        return;
    client_cut_off(client,
                   status == -EBADMSG  ? WS_CHANNEL_REASON_FRAME
                   : status == -EFBIG  ? WS_CHANNEL_REASON_SIZE
                   : status == -EDQUOT ? WS_CHANNEL_REASON_FILES
                   : status == -EUSERS ? WS_CHANNEL_REASON_JOBS
                   : status == -ENOMEM ? WS_CHANNEL_REASON_MEMORY
                                       : WS_CHANNEL_REASON_FILE,
                   status == -ENOMEM ? bytes : 0);
}

/* --- messages ----------------------------------------------------------------------------------- */

/* Closes an older connection of the same process. A process may reconnect before the collector has seen the end of
 * the older connection. */
static void close_older(struct client *client, const struct recording *recording)
{
    for (struct client *other = client->all->first; other; other = other->next)
        if (other != client && other->recording == recording) {
            client_close(other, "connected anew");
            return;
        }
}

static int resume(struct client *client, struct job *job)
{
    struct recording *recording = job_find(job, &client->identity);
    if (!recording)
        return 0;
    if (recording->open)
        close_older(client, recording);
    if (!remains_drop(&client->all->remains, recording))
        return -EAGAIN;
    if (flies(client) && !recording->flight)
        return -ENOENT; /* the trace's frames in memory were dropped, with the names that later frames refer to */
    if (recording->flight)
        client->stream = recording->stream;
    else
        client->file = job_reopen(job, recording, &client->stream);
    if (client->file < 0 && !recording->flight)
        return client->file;
    client->recording = recording;
    client->to_trim = !recording->flight;
    client->resuming = !client->stream.begun;
    recording->open = true;
    *recording->ended = 0;
    recording->relayed = false;
    job->changed = true;
    return 0;
}

/* Sends WELCOME, which tells the client from which byte on to send its trace. If the client continues a trace file,
 * that file must have been read to its end before this call. */
static void welcome(struct client *client)
{
    if (client->recording) {
        client_watch(client);
        client->recording->bytes = client->stream.taken;
        client->recording->frames = client->stream.frames;
        jobs_get(&client->all->jobs, client->hello.job, false)->changed = true;
    }
    answer(client, WS_CHANNEL_WELCOME, client->stream.taken);
}

static void read_files(uv_idle_t *idle);

static void greet(struct client *client, const struct ws_channel_hello *hello)
{
    client->hello = *hello;
    client->greeted = true;
    bool right = *client->from ? identify_relayed(&client->identity, client->from, hello)
                               : identify_process(&client->identity, client->peer.pid, hello);
    client->peer.pid = client->identity.pid;
    if (!right) {
        client_cut_off(client, WS_CHANNEL_REASON_IDENTITY, 0);
        return;
    }
    int error = resume(client, jobs_get(&client->all->jobs, hello->job, false));
    if (error)
        client_cut_off(client,
                       error == -ENOMEM   ? WS_CHANNEL_REASON_MEMORY
                       : error == -EAGAIN ? WS_CHANNEL_REASON_CLIENTS
                                          : WS_CHANNEL_REASON_FILE,
                       0);
    else if (client->resuming)
        uv_idle_start(&client->all->reading, read_files);
    else
        welcome(client);
}

/* `how` is a text from a relaying collector: how the trace ended. If there is no text, the trace ended normally. */
static void say_goodbye(struct client *client, const uint8_t *how, size_t size)
{
    char ended[sizeof(client->recording->ended)] = "goodbye";
    if (size && *client->from) {
        snprintf(ended, sizeof(ended), "%.*s", (int)size, (const char *)how);
        ws_make_printable(ended);
    }
    if (client->recording) {
        trim(client);
        memcpy(client->recording->ended, ended, sizeof(ended));
    }
    if (*client->from)
        answer(client, WS_CHANNEL_GOODBYE, client->stream.taken);
    client_close(client, ended);
}

static void handle(struct client *client, const uint8_t *bytes, size_t size)
{
    struct ws_channel_message message;
    int status = ws_channel_read(bytes, size, &message);
    bool asks = message.kind == WS_CHANNEL_ASK;
    bool may = !*client->from || (message.kind <= WS_CHANNEL_GOODBYE);
    bool right = !status && may &&
                 (asks ? !client->greeted : client->greeted == (message.kind != WS_CHANNEL_HELLO)) &&
                 client->asks <= asks;
    if (right && message.kind == WS_CHANNEL_HELLO) {
        greet(client, &message.hello);
    } else if (right && message.kind == WS_CHANNEL_DATA &&
               message.number == client->stream.taken + client->stream.size) {
        status = stream_add(&client->stream, message.bytes, message.size, take_unit, client);
        after_units(client, status, message.size);
    } else if (right && message.kind == WS_CHANNEL_GOODBYE && message.number == client->stream.taken) {
        say_goodbye(client, message.bytes, message.size);
    } else if (right && message.kind == WS_CHANNEL_STATE) {
        client->state = message.number ? CLIENT_RECORDS : CLIENT_STOPPED;
    } else if (right && message.kind == WS_CHANNEL_PROGRESS &&
               ask_take(client, message.number, message.bytes, message.size)) {
        dump_soon_look(client->all);
    } else if (right && asks && !(status = control_answer(client, &message))) {
        client->asks = true;
    } else {
        client_cut_off(client, status == -EPROTO ? WS_CHANNEL_REASON_VERSION : WS_CHANNEL_REASON_MESSAGE, size);
    }
}

/* The process gave up waiting for this collector, and has written the whole trace into a file of its own. Removes the
 * part of the trace that the collector has, so that no report counts it twice. The part is not removed if it was
 * relayed or is being relayed (--relay), or if it is only in the flight recorder's memory. */
static void drop_duplicate(struct client *client)
{
    struct recording *recording = client->recording;
    bool has_file = client->file >= 0;
    client_close(client, "written to a file by the process itself");
    if (recording && has_file)
        job_drop_duplicate(jobs_get(&client->all->jobs, client->hello.job, false), recording);
}

/* The connection has ended without GOODBYE, usually because the process has ended or is about to. The process's live
 * memory (memory that it shares with the collector, record/live.h) holds the records that the process had not
 * sent. */
static void end_without_goodbye(struct client *client)
{
    int memory = client->memory;
    if (memory >= 0 && ws_salvage_is_elsewhere(memory)) {
        drop_duplicate(client);
        return;
    }
    bool due = client->greeted && !flies(client) && remains_are_due(memory);
    if (due && !client->recording)
        make_recording(client);
    struct recording *recording = client->recording;
    bool keeps = due && recording && !client->resuming && !client->stuck;
    if (keeps) {
        trim(client);
        client->memory = -1;
    }
    client_close(client, "gone without goodbye");
    if (keeps && !remains_keep(&client->all->remains, memory, client->peer.pid,
                               jobs_get(&client->all->jobs, client->hello.job, false), recording))
        close(memory);
}

void client_read(struct client *client, unsigned most)
{
    static uint8_t bytes[WS_CHANNEL_MESSAGE_MAX + 1]; /* one byte more, to detect messages that are too long */
    bool reset = false;
    for (unsigned i = 0; i < most && !client->closing && !client->stuck && !client->resuming; i++) {
        ssize_t size = receive_message(client->fd, bytes, sizeof(bytes), client->greeted ? NULL : &client->memory);
        if (size > 0) {
            handle(client, bytes, (size_t)size);
        } else if (size < 0 && errno == ECONNRESET && !reset) {
            /* The client closed its socket before it read all answers. The messages that it had sent can still be
             * read. */
            reset = true;
        } else if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        } else {
            end_without_goodbye(client);
        }
    }
}

static void on_event(uv_poll_t *poll, int status, int events);

void client_wait(struct client *client)
{
    int events = (client->stuck || client->resuming ? 0 : UV_READABLE) | (client->owes ? UV_WRITABLE : 0);
    if (client->closing || events == client->events)
        return;
    client->events = events;
    if (events)
        uv_poll_start(&client->poll, events, on_event);
    else
        uv_poll_stop(&client->poll);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct client *client = poll->data;
    if (client->owes && (events & UV_WRITABLE))
        answer(client, WS_CHANNEL_TAKEN, client->stream.taken);
    if (status < 0)
        /* After an error libuv stops polling. client_wait makes libuv poll again, because messages may still come. */
        client->events = 0;
    if (status < 0 || (events & UV_READABLE))
        client_read(client, MESSAGES_A_TURN);
    client_wait(client);
}

/* Reads the next part of the trace file of each client that has reconnected and continues that file (`resuming`). One
 * call reads only a part, so that other clients are served meanwhile. */
static void read_files(uv_idle_t *idle)
{
    struct clients *clients = idle->data;
    bool more = false;
    for (struct client *client = clients->first, *next; client; client = next) {
        next = client->next;
        if (!client->resuming)
            continue;
        int status = job_read_on(client->file, &client->stream);
        client->resuming = status > 0;
        more |= client->resuming;
        if (status < 0)
            client_cut_off(client, status == -ENOMEM ? WS_CHANNEL_REASON_MEMORY : WS_CHANNEL_REASON_FILE, 0);
        else if (!status)
            welcome(client);
        client_wait(client);
    }
    if (!more)
        uv_idle_stop(idle);
}

static bool peer_is_gone(const struct client *client)
{
    struct pollfd look = { .fd = client->fd };
    return poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR));
}

void client_retry(struct client *client)
{
    after_units(client, stream_retry(&client->stream, take_unit, client), 0);
    if (client->stuck && (client->all->ending || peer_is_gone(client)))
        client_close(client, "disk full"); /* the client is gone or standard input has ended: wait no longer */
    if (!client->closing && !client->stuck)
        client_read(client, MESSAGES_A_TURN);
    client_wait(client);
}
