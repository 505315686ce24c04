#include "collector/relay_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/minmax.h"

enum { MESSAGES_A_TURN = 16 }; /* messages sent for one trace before other traces are sent */

static void stop(struct relay_stream *stream, enum relay_state state, const char *why)
{
    tcp_destroy(stream->tcp);
    stream->tcp = NULL;
    stream->state = state;
    snprintf(stream->why, sizeof(stream->why), "%s", why);
}

/* --- to the other collector --------------------------------------------------------------------- */

static void send_number(struct relay_stream *stream, enum ws_channel_kind kind, uint64_t number, const char *text)
{
    uint8_t bytes[WS_CHANNEL_START_SIZE];
    size_t size = strlen(text);
    ws_channel_write(bytes, kind, number, size);
    tcp_write(stream->tcp, bytes, sizeof(bytes), (const uint8_t *)text, size);
}

/* Sends the next part of the trace. Returns false if nothing is left to send now, or after an error. */
static bool send_data(struct relay_stream *stream)
{
    static uint8_t data[WS_CHANNEL_DATA_MAX];
    uint8_t head[WS_CHANNEL_START_SIZE];
    uint64_t left = stream->file.end > stream->sent ? stream->file.end - stream->sent : 0;
    size_t size = (size_t)ws_min(left, (uint64_t)sizeof(data));
    if (!size)
        return false;
    if (relay_file_read(&stream->file, stream->sent, data, size) != (int64_t)size) {
        stop(stream, RELAY_REFUSED, "its file cannot be read");
        return false;
    }
    ws_channel_write(head, WS_CHANNEL_DATA, stream->sent, size);
    tcp_write(stream->tcp, head, sizeof(head), data, size);
    stream->sent += size;
    return true;
}

static void send_some(struct relay_stream *stream)
{
    int i = 0;
    while (stream->state == RELAY_SENDS && i++ < MESSAGES_A_TURN && tcp_has_room(stream->tcp) && send_data(stream))
        ;
    if (stream->state != RELAY_SENDS)
        return;
    if (stream->file.end > stream->sent) {
        tcp_wait_for_space(stream->tcp);
    } else if (stream->ended && stream->whole && stream->taken == stream->sent && tcp_has_room(stream->tcp)) {
        stream->state = RELAY_LEAVES;
        send_number(stream, WS_CHANNEL_GOODBYE, stream->taken, stream->how);
    }
}

/* --- from the other collector ------------------------------------------------------------------- */

static void on_ready(void *data)
{
    struct relay_stream *stream = data;
    uint8_t bytes[WS_CHANNEL_HELLO_SIZE];
    ws_channel_write_hello(bytes, &stream->hello);
    stream->state = RELAY_ASKS;
    tcp_write(stream->tcp, bytes, sizeof(bytes), NULL, 0);
}

static void on_welcome(struct relay_stream *stream, uint64_t there)
{
    struct stat about;
    if (fstat(stream->file.fd, &about) || there > (uint64_t)about.st_size) {
        stop(stream, RELAY_REFUSED, "the other collector has more of it than is here");
        return;
    }
    stream->welcomed = true;
    stream->file.end = stream->sent = stream->taken = there;
    stream->state = RELAY_SENDS;
}

static void take_note(struct relay_stream *stream, uint64_t taken)
{
    stream->taken = taken;
    send_some(stream);
}

static bool on_message(void *data, const uint8_t *bytes, size_t size)
{
    struct relay_stream *stream = data;
    struct ws_channel_message message;
    int status = ws_channel_read(bytes, size, &message);
    enum relay_state state = stream->state;
    uint64_t number = message.number;
    if (!status && message.kind == WS_CHANNEL_REFUSED)
        stop(stream, RELAY_REFUSED, ws_channel_reason_text(number));
    else if (!status && message.kind == WS_CHANNEL_WELCOME && state == RELAY_ASKS)
        on_welcome(stream, number);
    else if (!status && message.kind == WS_CHANNEL_TAKEN && state == RELAY_SENDS && number <= stream->sent)
        take_note(stream, number);
    else if (!status && message.kind == WS_CHANNEL_GOODBYE && state == RELAY_LEAVES && number == stream->taken)
        stop(stream, RELAY_DONE, "");
    else if (status || message.kind != WS_CHANNEL_CONTROL) /* ignore CONTROL: it is for a recorded process */
        stop(stream, RELAY_CUT, "it does not answer as a collector does");
    return true;
}

static void on_space(void *data)
{
    send_some(data);
}

static void on_end(void *data, int status)
{
    struct relay_stream *stream = data;
    char why[sizeof(stream->why)];
    snprintf(why, sizeof(why), "%s", tcp_why(stream->tcp, status));
    stop(stream, RELAY_CUT, why);
}

/* --- for the relay ------------------------------------------------------------------------------ */

/* Fills in HELLO, the first message of a connection, from a recording. The other collector checks this HELLO as it
 * checks the HELLO of a recorded process. */
static void introduce(struct ws_channel_hello *hello, const struct job *job, const struct recording *one)
{
    *hello = (struct ws_channel_hello){ .stream = one->identity.stream,
                                        .start_time = one->identity.start_time,
                                        .pid = (uint32_t)one->identity.pid };
    memcpy(hello->boot_id, one->identity.boot_id, sizeof(hello->boot_id));
    snprintf(hello->rank, sizeof(hello->rank), "%s", one->rank);
    snprintf(hello->host, sizeof(hello->host), "%s", one->host);
    snprintf(hello->job, sizeof(hello->job), "%.*s", (int)sizeof(hello->job) - 1, job->name);
    snprintf(hello->file, sizeof(hello->file), "%s", one->file);
}

static int open_file(const struct job *job, const struct recording *recording)
{
    struct stat about;
    int fd = name_is_safe(recording->file)
                 ? openat(job->folder, recording->file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                 : -1;
    if (fd < 0 || (!fstat(fd, &about) && S_ISREG(about.st_mode)))
        return fd;
    close(fd);
    return -1;
}

struct relay_stream *relay_stream_create(uv_loop_t *loop, int fd, struct tls *tls, struct job *job,
                                         const struct recording *recording)
{
    static const struct tcp_events events = { on_ready, on_message, on_space, on_end };
    struct relay_stream *stream = calloc(1, sizeof(*stream));
    int file = stream ? open_file(job, recording) : -1;
    if (file < 0) {
        tls_destroy(tls);
        close(fd);
        free(stream);
        return NULL;
    }
    stream->file.fd = file;
    stream->job = job;
    stream->begins = !recording->open;
    introduce(&stream->hello, job, recording);
    stream->tcp = tcp_create(loop, fd, tls, true, &events, stream);
    if (!stream->tcp)
        stop(stream, RELAY_CUT, "out of memory");
    job->relays++;
    return stream;
}

void relay_stream_update(struct relay_stream *stream, const struct recording *recording)
{
    if (stream->state == RELAY_LEAVES && recording->open)
        stop(stream, RELAY_DONE, ""); /* the process has reconnected; a new stream sends the rest */
    stream->ended = !recording->open;
    stream->limit = recording->open ? recording->settled : UINT64_MAX;
    memcpy(stream->how, recording->ended, sizeof(stream->how));
    if (stream->state != RELAY_SENDS)
        return;
    stream->whole = relay_file_look(&stream->file, stream->limit);
    send_some(stream);
}

bool relay_stream_has_all(struct relay_stream *stream, const struct recording *recording)
{
    return stream->state == RELAY_DONE && !recording->open && !strcmp(stream->how, recording->ended) &&
           relay_file_look(&stream->file, UINT64_MAX) && stream->file.end == stream->taken;
}

void relay_stream_destroy(struct relay_stream *stream)
{
    tcp_destroy(stream->tcp);
    close(stream->file.fd);
    stream->job->relays--;
    free(stream);
}
