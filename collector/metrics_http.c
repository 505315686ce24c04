#include "collector/metrics_http.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "collector/metrics.h"
#include "collector/metrics_socket.h"
#include "collector/say.h"

enum {
    CONNECTIONS_MAX = 16,
    CONNECTION_MEMORY = 16 << 10, /* bytes for the headers of a request */
    DEADLINE_MS = 5000,           /* lifetime of a connection, which serves one request */
    FRESH_MS = 200,               /* how long the same answer is sent to all requests before a new one is made */
};

struct connection {
    int fd; /* -1: the entry is not used */
    uint64_t since;
};

struct metrics_http {
    uv_poll_t poll;
    uv_timer_t timer;
    struct MHD_Daemon *daemon;
    struct listening listening;
    const struct clients *clients;
    int64_t start_ns;
    struct connection connections[CONNECTIONS_MAX];
    struct MHD_Response *answers[METRICS_FORMATS];
    uint64_t answered[METRICS_FORMATS]; /* when `answers` were made, in ms of uv_now() */
};

static uint64_t now_ms(const struct metrics_http *http)
{
    return uv_now(http->clients->loop);
}

/* --- answers ------------------------------------------------------------------------------------ */

static uint64_t resident_bytes(void)
{
    unsigned long all, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int64_t ns_of(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

_Static_assert((int)METRICS_DUMPS == (int)DUMP_KIND_COUNT, "a sample for each cause");

static struct metrics_collector about_collector(const struct metrics_http *http)
{
    struct rusage usage = { 0 };
    getrusage(RUSAGE_SELF, &usage);
    struct metrics_collector about = { .clients = http->clients->count,
                                       .cut_off = http->clients->cut_off,
                                       .refused_clients = http->clients->jobs.refused_clients,
                                       .refused_bytes = http->clients->jobs.refused_bytes,
                                       .hangs = http->clients->hangs,
                                       .resident_bytes = resident_bytes(),
                                       .processor_ns = ns_of(usage.ru_utime) + ns_of(usage.ru_stime),
                                       .start_ns = http->start_ns };
    for (const struct job *job = http->clients->jobs.first; job; job = job->next)
        about.hanging += job->hang_said;
    for (enum dump_kind kind = 0; kind < DUMP_KIND_COUNT; kind++) {
        about.dumps[kind].cause = dump_word(kind);
        about.dumps[kind].written = http->clients->dumps.written[kind];
    }
    return about;
}

static struct MHD_Response *make_answer(const struct metrics_http *http, enum metrics_format format)
{
    const struct metrics_collector about = about_collector(http);
    struct metrics_text text = { .format = format };
    metrics_write(&text, http->clients->figures, &about);
    struct MHD_Response *answer =
        text.failed ? NULL : MHD_create_response_from_buffer(text.size, text.bytes, MHD_RESPMEM_MUST_FREE);
    if (!answer) {
        free(text.bytes);
        return NULL;
    }
    MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, metrics_content_type(format));
    MHD_add_response_header(answer, MHD_HTTP_HEADER_CONNECTION, "close");
    MHD_add_response_header(answer, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(answer, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
    return answer;
}

static enum MHD_Result answer_metrics(struct metrics_http *http, struct MHD_Connection *connection)
{
    const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    enum metrics_format format = metrics_negotiate(accept);
    struct MHD_Response **answer = &http->answers[format];
    if (*answer && now_ms(http) - http->answered[format] > FRESH_MS) {
        MHD_destroy_response(*answer); /* connections that still send this answer hold references to it */
        *answer = NULL;
    }
    if (!*answer) {
        *answer = make_answer(http, format);
        http->answered[format] = now_ms(http);
    }
    return *answer ? MHD_queue_response(connection, MHD_HTTP_OK, *answer) : MHD_NO;
}

static enum MHD_Result answer_error(struct MHD_Connection *connection, unsigned status, const char *text)
{
    /* The cast drops `const`; the library only reads. */
    struct MHD_Response *answer =
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    if (!answer)
        return MHD_NO;
    MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
    MHD_add_response_header(answer, MHD_HTTP_HEADER_CONNECTION, "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(answer, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, answer);
    MHD_destroy_response(answer);
    return result;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **state)
{
    static int headers_seen;
    (void)version;
    (void)upload;
    (void)upload_size;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "ask with GET\n");
    if (!*state) { /* only the headers have come; the library calls again when the request is complete */
        *state = &headers_seen;
        return MHD_YES;
    }
    if (strcmp(url, "/metrics") != 0)
        return answer_error(connection, MHD_HTTP_NOT_FOUND, "wallshim-collector: see /metrics\n");
    return answer_metrics(data, connection);
}

/* --- connections -------------------------------------------------------------------------------- */

static void on_connection(void *data, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct metrics_http *http = data;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        struct connection *one = *state;
        if (one)
            one->fd = -1;
        return;
    }
    const union MHD_ConnectionInfo *about = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (size_t i = 0; about && i < CONNECTIONS_MAX; i++)
        if (http->connections[i].fd < 0) {
            http->connections[i] = (struct connection){ about->connect_fd, now_ms(http) };
            *state = &http->connections[i];
            return;
        }
}

static void on_timer(uv_timer_t *timer);

/* Lets the library handle its events, and sets the timer to the time at which the library must be called next. */
static void run(struct metrics_http *http)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    MHD_run(http->daemon);
    if (MHD_get_timeout(http->daemon, &ms) == MHD_YES)
        uv_timer_start(&http->timer, on_timer, ms, 0);
    else
        uv_timer_stop(&http->timer);
}

static void on_timer(uv_timer_t *timer)
{
    run(timer->data);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    run(poll->data);
}

/* Ends old connections. The library ends only silent connections, so without this function a client that sends a byte
 * now and then would stay forever. */
void metrics_http_tick(struct metrics_http *http)
{
    if (!http)
        return;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        const struct connection *one = &http->connections[i];
        if (one->fd >= 0 && now_ms(http) - one->since > DEADLINE_MS)
            shutdown(one->fd, SHUT_RDWR);
    }
    run(http);
}

/* --- start and end ------------------------------------------------------------------------------ */

static bool start_daemon(struct metrics_http *http)
{
    int own = fcntl(http->listening.fd, F_DUPFD_CLOEXEC, 0); /* the library closes this duplicate */
    http->daemon = own < 0
                       ? NULL
                       : MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET,
                                          own, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
                                          MHD_OPTION_CONNECTION_TIMEOUT, DEADLINE_MS / 1000U,
                                          MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_END);
    if (!http->daemon && own >= 0)
        close(own);
    return http->daemon != NULL;
}

struct metrics_http *metrics_http_start(uv_loop_t *loop, const char *address, bool for_all,
                                        const struct clients *clients)
{
    struct timespec now;
    struct metrics_http *http = calloc(1, sizeof(*http));
    if (!http || metrics_socket_start(&http->listening, address, for_all)) {
        free(http);
        return NULL;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    http->start_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    http->clients = clients;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        http->connections[i].fd = -1;
    const union MHD_DaemonInfo *about =
        start_daemon(http) ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!about || uv_poll_init(loop, &http->poll, about->epoll_fd)) {
        say("--metrics %s: the HTTP server does not start", address);
        if (http->daemon)
            MHD_stop_daemon(http->daemon);
        listening_end(&http->listening);
        free(http);
        return NULL;
    }
    uv_timer_init(loop, &http->timer);
    http->poll.data = http->timer.data = http;
    uv_poll_start(&http->poll, UV_READABLE, on_event);
    return http;
}

void metrics_http_stop(struct metrics_http *http)
{
    if (!http)
        return;
    uv_poll_stop(&http->poll);
    uv_close((uv_handle_t *)&http->poll, NULL);
    uv_close((uv_handle_t *)&http->timer, NULL);
    MHD_stop_daemon(http->daemon);
    listening_end(&http->listening);
}

void metrics_http_free(struct metrics_http *http)
{
    if (!http)
        return;
    for (size_t i = 0; i < METRICS_FORMATS; i++)
        if (http->answers[i])
            MHD_destroy_response(http->answers[i]);
    free(http);
}
