#include "collector/ask.h"

#include <stdlib.h>

#include "collector/client.h"
#include "collector/hang.h"

static void ask(struct client *client, uint64_t now)
{
    struct recording *recording = client->recording;
    uint8_t bytes[WS_CHANNEL_START_SIZE];
    if (!recording->progress)
        recording->progress = calloc(1, sizeof(*recording->progress));
    if (!recording->progress)
        return;
    uint32_t number = ++client->all->asked;
    ws_channel_write(bytes, WS_CHANNEL_CONTROL, WS_CHANNEL_FLUSH | (uint64_t)number << 32, 0);
    if (send(client->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return;
    if (!recording->progress->owes)
        recording->progress->asked_ms = now;
    recording->progress->asked = number;
    recording->progress->owes = true;
}

/* A process whose trace another collector relays to us (`from`) cannot be asked, because only the collector on its
 * own machine is connected to it. */
static bool can_be_asked(const struct client *client)
{
    return client->greeted && client->recording && !client->resuming && !*client->from;
}

void ask_job(struct clients *clients, const struct job *job)
{
    for (struct client *client = clients->first; client; client = client->next)
        if (can_be_asked(client) && jobs_get(&clients->jobs, client->hello.job, false) == job)
            ask(client, uv_now(clients->loop));
}

void ask_due(struct clients *clients, uint64_t every_ms)
{
    uint64_t now = uv_now(clients->loop);
    for (struct client *client = clients->first; client; client = client->next) {
        const struct progress *progress = can_be_asked(client) ? client->recording->progress : NULL;
        if (can_be_asked(client) && (!progress || (!progress->owes && now - progress->asked_ms >= every_ms)))
            ask(client, now);
    }
}

bool ask_answered(const struct job *job)
{
    for (const struct recording *one = job->recordings; one; one = one->next)
        if (one->open && one->progress && one->progress->owes)
            return false;
    return true;
}

bool ask_take(struct client *client, uint64_t number, const uint8_t *bytes, size_t size)
{
    struct progress *progress = client->recording ? client->recording->progress : NULL;
    if (!progress || !progress_take(progress, bytes, size, uv_now(client->all->loop)))
        return false;
    /* This may be the answer to an earlier question. Then the answer to the last question, number `asked`, is still
     * to come. */
    progress->owes = progress->owes && number != progress->asked;
    return true;
}
