#include "collector/relay.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/minmax.h"
#include "collector/address.h"
#include "collector/relay_stream.h"
#include "collector/say.h"
#include "trace/salvage.h"

enum {
    TICK_MS = 100,
    SURVEY_MS = 5000, /* time between two searches of all folders for jobs that are not in memory */
    /* A stream is a connection that sends one trace to the other collector. At most this many streams at a time
     * send traces that had ended before their stream began, so that there is room for traces that still grow. No
     * stream starts while this many streams wait for WELCOME, the other collector's first answer. */
    ENDED_MAX = 16,
    BACKOFF_MIN_MS = 100, /* first wait between two attempts to connect; doubled each time */
    BACKOFF_MAX_MS = 5000,
    REFUSED_MS = 10000, /* time after which a refused trace is tried again */
    SAID_MAX = 20,
};

struct relay {
    uv_loop_t *loop;
    struct clients *clients;
    struct tls_context *tls;
    const char *address;
    char host[ADDRESS_HOST_SIZE], port[8];
    uv_timer_t tick;
    uv_getaddrinfo_t asking;
    bool asks;              /* `asking`, the look-up of the address, is under way */
    struct addrinfo *found; /* addresses of `host`; NULL: not looked up */
    unsigned tries;         /* number of attempts to connect before one succeeded; selects an address in `found` */
    bool reached;           /* WELCOME has come on a connection since the last failure */
    /* When to connect again, and when to search all folders again, in ms of uv_now(). `backoff` is the length of the
     * last wait between two attempts to connect, in ms, or 0. */
    uint64_t next_try, next_survey, backoff;
    char said[256]; /* the last failure that was logged; "": none since WELCOME */
    unsigned said_refused;
    unsigned count, ended, unanswered; /* number of streams; of those with `begins`; of those that wait for WELCOME */
    struct relay_stream *streams[RELAY_STREAMS_MAX];
};

static uint64_t now_of(const struct relay *relay)
{
    return uv_now(relay->loop);
}

/* --- what works --------------------------------------------------------------------------------- */

/* Sets when to connect again. The time is partly random, so that many collectors do not reconnect at once. */
static void wait_longer(struct relay *relay)
{
    uint32_t chance = 0;
    if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != sizeof(chance))
        chance = (uint32_t)uv_hrtime();
    relay->backoff = relay->backoff ? ws_min(2 * relay->backoff, (uint64_t)BACKOFF_MAX_MS) : BACKOFF_MIN_MS;
    relay->next_try = now_of(relay) + relay->backoff / 2 + chance % (relay->backoff / 2 + 1);
}

static void on_failure(struct relay *relay, const char *why)
{
    if (now_of(relay) < relay->next_try)
        return; /* one failure may cut several streams; another stream has reported it */
    relay->reached = false;
    wait_longer(relay);
    if (relay->found && !relay->asks) {
        uv_freeaddrinfo(relay->found); /* look the name up anew, because its address may have changed */
        relay->found = NULL;
    }
    if (!strcmp(why, relay->said))
        return;
    snprintf(relay->said, sizeof(relay->said), "%s", why);
    say("--relay %s: %s; trying again", relay->address, why);
}

static void on_success(struct relay *relay)
{
    relay->backoff = 0;
    if (relay->reached)
        return;
    relay->reached = true;
    if (*relay->said)
        say("--relay %s: it works again", relay->address);
    *relay->said = 0;
}

/* --- connections -------------------------------------------------------------------------------- */

static void on_addresses(uv_getaddrinfo_t *asking, int status, struct addrinfo *found)
{
    struct relay *relay = asking->data;
    relay->asks = false;
    relay->found = found;
    if (status && status != UV_ECANCELED)
        on_failure(relay, uv_strerror(status));
}

/* Looks the addresses of relay->host up in another thread, because the look-up may take long. */
static void find_addresses(struct relay *relay)
{
    const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM };
    if (relay->asks)
        return;
    relay->asking.data = relay;
    relay->asks = !uv_getaddrinfo(relay->loop, &relay->asking, on_addresses,
                                  strcmp(relay->host, "localhost") ? relay->host : "127.0.0.1", relay->port, &wanted);
}

/* Returns the socket, or -1. */
static int begin_to_connect(struct relay *relay)
{
    unsigned count = 0;
    for (const struct addrinfo *one = relay->found; one; one = one->ai_next)
        count++;
    const struct addrinfo *chosen = relay->found;
    for (unsigned i = relay->tries % count; i; i--)
        chosen = chosen->ai_next;
    if (!relay->reached)
        relay->tries++;
    if (!relay->tls && !address_is_loopback(chosen->ai_addr)) {
        on_failure(relay, "other machines are reached with TLS only");
        return -1;
    }
    int fd = socket(chosen->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && (!connect(fd, chosen->ai_addr, chosen->ai_addrlen) || errno == EINPROGRESS))
        return fd;
    on_failure(relay, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* May a connection be made now to send this trace? Until the other collector has answered one connection with
 * WELCOME, no second connection is made. */
static bool may_start(const struct relay *relay, const struct recording *one)
{
    return now_of(relay) >= relay->next_try && relay->count < RELAY_STREAMS_MAX &&
           (relay->reached || !relay->count) && relay->unanswered < ENDED_MAX &&
           (one->open || relay->ended < ENDED_MAX);
}

/* Connects to the other collector, to send it a trace. If the other collector's address is not known yet, only begins
 * to look it up; then a later call connects. */
static void start(struct relay *relay, struct job *job, struct recording *one)
{
    if (!relay->found) {
        find_addresses(relay);
        return;
    }
    unsigned slot = 0;
    while (relay->streams[slot])
        slot++;
    int fd = begin_to_connect(relay);
    if (fd < 0)
        return;
    struct tls *tls = relay->tls ? tls_create(relay->tls, relay->host) : NULL;
    if (relay->tls && !tls) {
        close(fd);
        on_failure(relay, "out of memory");
        return;
    }
    struct relay_stream *stream = relay_stream_create(relay->loop, fd, tls, job, one);
    if (!stream) {
        one->relay_after = now_of(relay) + REFUSED_MS;
        return;
    }
    stream->seen = true;
    relay->streams[slot] = stream;
    relay->count++;
    relay->unanswered++;
    relay->ended += stream->begins;
    one->relay = slot + 1;
}

/* Ends a stream. `one` is the recording whose trace the stream has sent; NULL: the recording was removed
 * meanwhile. */
static void finish(struct relay *relay, unsigned slot, struct recording *one)
{
    struct relay_stream *stream = relay->streams[slot];
    if (one) {
        one->relay = 0;
        one->relay_after = stream->state == RELAY_REFUSED ? now_of(relay) + REFUSED_MS : 0;
    }
    if (one && relay_stream_has_all(stream, one)) {
        one->relayed = true;
        stream->job->changed = true;
    }
    if (stream->state == RELAY_CUT)
        on_failure(relay, stream->why);
    else if (stream->state == RELAY_REFUSED && relay->said_refused++ < SAID_MAX)
        say("--relay %s: %s/%s is refused: %s", relay->address, stream->job->name, stream->hello.file, stream->why);
    relay->count--;
    relay->unanswered -= !stream->counted;
    relay->ended -= stream->begins;
    relay->streams[slot] = NULL;
    relay_stream_destroy(stream);
}

/* --- each turn ---------------------------------------------------------------------------------- */

static void visit_recording(struct relay *relay, struct job *job, struct recording *one)
{
    if (!one->relay) {
        if (!one->relayed && !one->flight && now_of(relay) >= one->relay_after && may_start(relay, one))
            start(relay, job, one);
        return;
    }
    struct relay_stream *stream = relay->streams[one->relay - 1];
    relay_stream_update(stream, one);
    stream->seen = true;
    if (stream->welcomed && !stream->counted) {
        stream->counted = true;
        relay->unanswered--;
        on_success(relay);
    }
    if (!stream->tcp)
        finish(relay, one->relay - 1, one);
}

static void visit_job(struct relay *relay, struct job *job)
{
    for (struct recording *one = job->recordings; one; one = one->next)
        visit_recording(relay, job, one);
}

/* Sets for each recording how many bytes of its trace are final and may be sent. If a process that shares its live
 * memory with the collector is killed, the collector may replace the end of its trace with what that memory holds
 * (remains.h). */
static void settle(struct clients *clients)
{
    for (const struct client *client = clients->first; client; client = client->next)
        if (client->recording)
            client->recording->settled = client->memory < 0 ? UINT64_MAX : ws_salvage_settled(client->memory);
}

static bool has_work(const struct job *job)
{
    const struct recording *one = job->recordings;
    while (one && (one->relayed || one->relay))
        one = one->next;
    return one;
}

/* Loads a job from its folder, and relays its traces. There may be more jobs in folders than the collector keeps in
 * memory, so on_tick searches the folders from time to time. */
static void survey_job(void *data, const char *name)
{
    struct relay *relay = data;
    struct job *job = jobs_get(&relay->clients->jobs, name, false);
    if (!job || !has_work(job))
        return;
    visit_job(relay, job);
    relay->clients->jobs.unrelayed = true; /* make on_tick load this job again later */
}

static void on_tick(uv_timer_t *timer)
{
    struct relay *relay = timer->data;
    struct jobs *jobs = &relay->clients->jobs;
    settle(relay->clients);
    for (unsigned i = 0; i < RELAY_STREAMS_MAX; i++)
        if (relay->streams[i])
            relay->streams[i]->seen = false;
    for (struct job *job = jobs->first; job; job = job->next)
        visit_job(relay, job);
    for (unsigned i = 0; i < RELAY_STREAMS_MAX; i++)
        if (relay->streams[i] && !relay->streams[i]->seen)
            finish(relay, i, NULL);
    if (jobs->unrelayed && now_of(relay) >= relay->next_survey && now_of(relay) >= relay->next_try) {
        jobs->unrelayed = false;
        relay->next_survey = now_of(relay) + SURVEY_MS;
        jobs_each(jobs, survey_job, relay);
    }
}

/* --- start and end ------------------------------------------------------------------------------ */

/* Stores the address of the other collector. If traces cannot be sent to this address, prints why on stderr and
 * returns false. */
static bool take_address(struct relay *relay, const char *address)
{
    const char *port = address_split(address, relay->host);
    if (!port || strlen(port) >= sizeof(relay->port)) {
        say("--relay %s: give HOST:PORT, or [HOST]:PORT for IPv6", address);
        return false;
    }
    if (!relay->tls && !address_names_loopback(relay->host)) {
        say("--relay %s: other machines are reached with TLS only; give --tls-cert, --tls-key and --tls-ca", address);
        return false;
    }
    memcpy(relay->port, port, strlen(port) + 1);
    relay->address = address;
    return true;
}

struct relay *relay_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    if (!relay)
        return NULL;
    relay->loop = loop;
    relay->clients = clients;
    relay->tls = tls;
    if (!take_address(relay, address)) {
        free(relay);
        return NULL;
    }
    clients->jobs.unrelayed = true;
    uv_timer_init(loop, &relay->tick);
    relay->tick.data = relay;
    uv_timer_start(&relay->tick, on_tick, TICK_MS, TICK_MS);
    return relay;
}

void relay_stop(struct relay *relay)
{
    if (!relay)
        return;
    for (unsigned i = 0; i < RELAY_STREAMS_MAX; i++)
        if (relay->streams[i])
            relay_stream_destroy(relay->streams[i]);
    if (relay->asks)
        uv_cancel((uv_req_t *)&relay->asking);
    uv_timer_stop(&relay->tick);
    uv_close((uv_handle_t *)&relay->tick, NULL);
}

void relay_free(struct relay *relay)
{
    if (relay && relay->found)
        uv_freeaddrinfo(relay->found);
    free(relay);
}
