#include "collector/clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/hang_watch.h"
#include "collector/process.h"

enum {
    HURRY_MS = 1000,         /* when memory is short: how long a frame may take to come whole */
    SILENCE_MS = 5000,       /* how long a connection may say nothing before its HELLO */
    LAST_MESSAGES = 1 << 12, /* of a client, when the collector ends */
};

/* --- memory ------------------------------------------------------------------------------------- */

/* For stream_memory. What is empty is given back first. Then the client goes whose frame has been coming for longest:
 * a program's shim sends a frame as fast as it is read. */
static bool reclaim(void *data, const struct stream *asking)
{
    struct clients *clients = data;
    struct client *slowest = NULL;
    size_t before = clients->memory.used;
    for (struct client *client = clients->first; client; client = client->next) {
        if (&client->stream == asking || client->stuck || client->resuming)
            continue;
        if (!client->stream.size)
            stream_finish(&client->stream);
        else if (!slowest || client->unit_since < slowest->unit_since)
            slowest = client;
    }
    if (clients->memory.used == before && slowest && uv_now(clients->loop) - slowest->unit_since > HURRY_MS)
        client_cut_off(slowest, WS_CHANNEL_REASON_SLOW, 0);
    return clients->memory.used < before;
}

void clients_init(struct clients *clients)
{
    clients->memory.reclaim = reclaim;
    clients->memory.data = clients;
    uv_idle_init(clients->loop, &clients->reading);
    clients->reading.data = clients;
    clients->remains = (struct remains_list){ .loop = clients->loop };
    clients->dumps.loop = clients->loop;
}

/* --- all connections ---------------------------------------------------------------------------- */

/* Makes room for one more connection. Returns whether there is room. */
static bool make_room(struct clients *clients)
{
    struct client *oldest = NULL; /* new ones stand first, so the last that is found is the oldest */
    if (clients->count < clients->limit)
        return true;
    for (struct client *client = clients->first; client; client = client->next)
        if (!client->greeted || !client->recording)
            oldest = client;
    if (oldest)
        client_cut_off(oldest, WS_CHANNEL_REASON_CLIENTS, 0);
    return oldest != NULL;
}

/* from: of a remote client; NULL: it is a process of this machine. */
static void take_in(struct clients *clients, int fd, const char *from)
{
    struct client *client = calloc(1, sizeof(*client));
    if (client && from) {
        client->peer.uid = (uid_t)-1;
        snprintf(client->from, sizeof(client->from), "%s", from);
    }
    if (!client || (!from && !process_may_connect(fd, &client->peer)) || !make_room(clients) ||
        uv_poll_init(clients->loop, &client->poll, fd)) {
        clients->jobs.refused_clients++;
        free(client);
        close(fd);
        return;
    }
    client->poll.data = client;
    client->fd = fd;
    client->all = clients;
    client->file = client->memory = -1;
    client->since = uv_now(clients->loop);
    stream_init(&client->stream, &clients->memory);
    client->next = clients->first;
    clients->first = client;
    clients->count++;
    client_wait(client);
}

void client_accept(struct clients *clients, int fd)
{
    take_in(clients, fd, NULL);
}

void client_accept_remote(struct clients *clients, int fd, const char *from)
{
    take_in(clients, fd, from);
}

void clients_tick(struct clients *clients)
{
    remains_tick(&clients->remains);
    dumps_tick(&clients->dumps, &clients->jobs);
    hang_tick(clients);
    for (struct client *client = clients->first, *next; client; client = next) {
        next = client->next; /* freed later, by the loop, even if it is closed meanwhile */
        if (client->closing)
            continue;
        if (client->stuck)
            client_retry(client);
        else if (!client->greeted && !client->asks && uv_now(clients->loop) - client->since > SILENCE_MS)
            client_cut_off(client, WS_CHANNEL_REASON_MESSAGE, 0);
        else if (client->unit_since && !client->resuming &&
                 uv_now(clients->loop) - client->unit_since > clients->patience_ms)
            client_cut_off(client, WS_CHANNEL_REASON_SLOW, 0);
        else if (!client->stream.size)
            stream_finish(&client->stream); /* an idle client needs no buffer; a busy one makes another */
    }
    if (clients->figures)
        figures_tick(clients->figures, uv_now(clients->loop));
    jobs_write(&clients->jobs);
}

void clients_end(struct clients *clients)
{
    for (struct client *client = clients->first, *next; client; client = next) {
        next = client->next;
        if (client->closing)
            continue;
        client_read(client, LAST_MESSAGES);
        client_close(client, "the collector ended first");
    }
    remains_end(&clients->remains);
    dumps_end(&clients->dumps);
    jobs_write(&clients->jobs);
}
