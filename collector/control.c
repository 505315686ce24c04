#include "collector/control.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/dump_soon.h"

struct answer {
    struct client *to;
    uint8_t bytes[WS_CHANNEL_MESSAGE_MAX];
    size_t size; /* size of the text, which follows the message header in `bytes` */
    int status;
};

static int send_message(const struct client *client, uint8_t *bytes, enum ws_channel_kind kind, uint64_t number,
                        size_t size)
{
    ws_channel_write(bytes, kind, number, size);
    ssize_t sent = send(client->fd, bytes, WS_CHANNEL_START_SIZE + size, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 ? -EPIPE : 0;
}

static void answer_send(struct answer *answer, bool more)
{
    if (!answer->status)
        answer->status = send_message(answer->to, answer->bytes, WS_CHANNEL_ANSWER, more, answer->size);
    answer->size = 0;
}

/* Adds `row` to the answer as a line of JSON. Takes over the caller's reference to it. */
static void answer_add(struct answer *answer, json_t *row)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        char *at = (char *)answer->bytes + WS_CHANNEL_START_SIZE + answer->size;
        size_t room = WS_CHANNEL_DATA_MAX - answer->size, size = json_dumpb(row, at, room, JSON_COMPACT);
        if (size < room) {
            at[size] = '\n';
            answer->size += size ? size + 1 : 0;
            break;
        }
        answer_send(answer, true);
    }
    json_decref(row);
}

static json_t *text_of(const char *text)
{
    json_t *value = json_string(text);
    return value ? value : json_string("?"); /* the text was not UTF-8 */
}

static json_t *describe(const struct client *client)
{
    static const char *const states[] = {
        [CLIENT_STATE_UNKNOWN] = "unknown", [CLIENT_STOPPED] = "stopped", [CLIENT_RECORDS] = "recording"
    };
    const struct recording *recording = client->recording;
    json_t *row = json_object();
    json_object_set_new(row, "pid", json_integer(client->peer.pid));
    json_object_set_new(row, "state", json_string(states[client->state]));
    json_object_set_new(row, "host", text_of(client->hello.host));
    json_object_set_new(row, "rank", text_of(*client->hello.rank ? client->hello.rank : "unknown"));
    json_object_set_new(row, "file", text_of(recording ? recording->file : client->hello.file));
    json_object_set_new(row, "bytes", json_integer((json_int_t)client->stream.taken));
    json_object_set_new(row, "frames", json_integer((json_int_t)client->stream.frames));
    if (*client->from)
        json_object_set_new(row, "relayed_by", text_of(client->from));
    return row;
}

/* --- dumps -------------------------------------------------------------------------------------- */

static int send_row(struct client *to, json_t *row, bool more)
{
    struct answer *answer = calloc(1, sizeof(*answer));
    int status = answer ? 0 : -EPIPE;
    if (!answer) {
        json_decref(row);
        return status;
    }
    answer->to = to;
    answer_add(answer, row);
    answer_send(answer, more);
    status = answer->status;
    free(answer);
    return status;
}

static void dump_is_done(void *data, const struct dump_result *result)
{
    struct client *asking = data;
    json_t *row =
        json_pack("{s:o, s:i, s:I, s:s}", "dump", text_of(result->folder), "traces", (int)result->traces, "bytes",
                  (json_int_t)result->bytes, "error", result->error ? strerror(-result->error) : "");
    send_row(asking, row, true);
    if (!--asking->dumps)
        send_row(asking, json_pack("{s:I}", "reached", (json_int_t)asking->dumped), false);
}

/* Requests a dump of one job, or of all jobs. Before a dump is written, the processes of the job send what they have
 * recorded. The client gets an answer for each dump when that dump is written. */
static int control_dump(struct client *asking, const struct ws_channel_message *message)
{
    struct clients *all = asking->all;
    char job[WS_CHANNEL_TEXT_MAX + 1];
    snprintf(job, sizeof(job), "%.*s", (int)message->size, (const char *)message->bytes);
    const struct dump_cause cause = { .kind = DUMP_REQUEST, .text = "asked for by wallshim ctl dump" };
    const char *why = all->dumps.flights.window_ms ? "" : "the collector runs without --flight";
    for (struct job *one = all->jobs.first; one && !*why; one = one->next) {
        if (*job && strcmp(job, one->name) != 0)
            continue;
        int status = dump_soon(all, one, &cause, dump_is_done, asking);
        if (status && status != -ENODATA)
            send_row(asking, json_pack("{s:s, s:s}", "job", one->name, "error", strerror(-status)), true);
        asking->dumps += !status;
        asking->dumped += !status;
    }
    if (*why)
        send_row(asking, json_pack("{s:s}", "error", why), true);
    return asking->dumps ? 0 : send_row(asking, json_pack("{s:i}", "reached", 0), false);
}

/* --- all commands ------------------------------------------------------------------------------- */

int control_answer(struct client *asking, const struct ws_channel_message *message)
{
    enum ws_channel_command command = (enum ws_channel_command)(message->number & UINT32_MAX);
    pid_t pid = (pid_t)(message->number >> 32);
    uint8_t bytes[WS_CHANNEL_START_SIZE + WS_CHANNEL_TEXT_MAX];
    json_int_t reached = 0;
    if (command >= WS_CHANNEL_COMMANDS || memchr(message->bytes, 0, message->size))
        return -EBADMSG;
    if (command == WS_CHANNEL_DUMP)
        return control_dump(asking, message);
    struct answer *answer = calloc(1, sizeof(*answer));
    if (!answer)
        return -EPIPE;
    answer->to = asking;
    memcpy(bytes + WS_CHANNEL_START_SIZE, message->bytes, message->size);
    for (struct client *client = asking->all->first; client; client = client->next) {
        if (!client->greeted || (pid && client->peer.pid != pid))
            continue;
        if (*client->from && command != WS_CHANNEL_STATUS)
            continue; /* the process is on another machine, so only the collector on that machine reaches it */
        if (command == WS_CHANNEL_STATUS)
            answer_add(answer, describe(client));
        else if (send_message(client, bytes, WS_CHANNEL_CONTROL, command, message->size))
            continue;
        reached++;
    }
    answer_add(answer, json_pack("{s:I}", "reached", reached));
    answer_send(answer, false);
    int status = answer->status;
    free(answer);
    return status;
}
