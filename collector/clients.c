#include "collector/clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/dump_soon.h"
#include "collector/hang_watch.h"
#include "collector/process.h"

enum {
    HURRY_MS = 1000,         /* longest time for a frame to arrive completely when memory is short */
    SILENCE_MS = 5000,       /* longest time from accept() to the client's first message */
    LAST_MESSAGES = 1 << 12, /* most messages read from each client when the collector ends */
};

/* --- memory ------------------------------------------------------------------------------------- */

/* stream_memory.reclaim: frees the buffers of idle clients. If there are no such buffers, finds the client whose
 * frame has been incomplete for longest, and cuts this client off if its frame has been incomplete for more than
 * HURRY_MS. A client that works properly completes a frame in less time, because it sends a frame as fast as the
 * collector reads. */
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
    struct client *oldest = NULL; /* the list begins with the newest client, so the last match is the oldest client */
    if (clients->count < clients->limit)
        return true;
    for (struct client *client = clients->first; client; client = client->next)
        if (!client->greeted || !client->recording)
            oldest = client;
    if (oldest)
        client_cut_off(oldest, WS_CHANNEL_REASON_CLIENTS, 0);
    return oldest != NULL;
}

/* Adds a client for the connection `fd`. `from` is the name of the collector that relays the client; NULL: the client
 * runs on this machine. */
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
    dump_soon_look(clients);
    hang_tick(clients);
    for (struct client *client = clients->first, *next; client; client = next) {
        next = client->next; /* a client that this loop closes is freed only later, by the event loop */
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
            stream_finish(&client->stream); /* an idle client needs no buffer; stream_add allocates a new one */
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
    dump_soon_end(clients);
    remains_end(&clients->remains);
    dumps_end(&clients->dumps);
    jobs_write(&clients->jobs);
}
