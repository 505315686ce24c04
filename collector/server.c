#include "collector/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/minmax.h"
#include "collector/clients.h"
#include "collector/gate.h"
#include "collector/metrics_http.h"
#include "collector/notify.h"
#include "collector/quota.h"
#include "collector/relay.h"
#include "collector/say.h"
#include "collector/socket.h"

enum {
    CLIENTS_MAX = 512,
    OWN_DESCRIPTORS = 96, /* descriptors of jobs, the loop and the socket */
    TICK_MS = 1000,
    QUOTA_TICKS = 5,
    ACCEPTED_A_TURN = 64,
};
static const size_t MEMORY_MAX = 256u << 20;   /* most bytes of all incomplete frames together */
static const size_t FLIGHTS_MAX = 2048u << 20; /* most bytes of all flight recorders together */

struct server {
    uv_loop_t loop;
    uv_poll_t accepting, input;
    uv_timer_t tick;
    uv_signal_t signals[2];
    struct listening listening;
    struct clients clients;
    struct quota quota;
    unsigned ticks;
    struct metrics_http *metrics;
    struct tls_context *tls;
    struct gates *gates;
    struct relay *relay;
    bool watches_input, input_ended;
};

static void end(struct server *server)
{
    uv_stop(&server->loop);
}

/* With --while-input: ends the event loop when standard input has ended and the last client is gone. */
static void end_if_done(struct server *server)
{
    if (server->input_ended && !server->clients.count && !server->clients.remains.first)
        end(server);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTED_A_TURN; i++) {
        int fd = accept4(server->listening.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        client_accept(&server->clients, fd);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct server *server = timer->data;
    clients_tick(&server->clients);
    if (server->ticks++ % QUOTA_TICKS == 0)
        quota_keep(&server->quota, &server->clients.jobs);
    metrics_http_tick(server->metrics);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    end(handle->data);
}

static void on_input(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;
    char bytes[256];
    (void)events;
    if (status < 0 || read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0) {
        server->input_ended = server->clients.ending = true;
        uv_poll_stop(poll);
    }
}

/* libuv calls this function after each iteration of the event loop that has polled for events. */
static void on_turn(uv_check_t *check)
{
    end_if_done(check->data);
}

/* Raises the process's limit of descriptors, and returns how many clients fit into it. A client needs two
 * descriptors, for its socket and its file. If another collector relays it, it needs two more: for the TCP
 * connection, and for the other end of the socket pair to it (gate.h). Each trace that we send to another collector
 * needs two. */
static unsigned clients_limit(const struct server_options *options)
{
    struct rlimit limit = { 0, 0 };
    const rlim_t each = options->address ? 4 : 2;
    const rlim_t own = OWN_DESCRIPTORS + (options->relay ? 2 * RELAY_STREAMS_MAX : 0);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t fit = limit.rlim_cur > own + each ? (limit.rlim_cur - own) / each : 1;
    return (unsigned)ws_min(fit, (rlim_t)CLIENTS_MAX);
}

/* Makes the folder and the folders above it, as far as they do not exist yet. Returns the folder's descriptor, or
 * -1. */
static int open_folder(const char *path)
{
    char above[4096];
    snprintf(above, sizeof(above), "%s", path);
    for (char *at = above; (at = strchr(at + 1, '/'));) {
        *at = 0;
        mkdir(above, 0700);
        *at = '/';
    }
    if (mkdir(path, 0700) && errno != EEXIST) {
        say("--dir %s: %s", path, strerror(errno));
        return -1;
    }
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        say("--dir %s: %s", path, strerror(errno));
    return folder;
}

static void watch_signals(struct server *server)
{
    static const int numbers[] = { SIGTERM, SIGINT };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uv_signal_init(&server->loop, &server->signals[i]);
        server->signals[i].data = server;
        uv_signal_start(&server->signals[i], on_signal, numbers[i]);
    }
}

static void watch_input(struct server *server)
{
    server->watches_input = !uv_poll_init(&server->loop, &server->input, STDIN_FILENO);
    server->input.data = server;
    server->input_ended = !server->watches_input || uv_poll_start(&server->input, UV_READABLE, on_input);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void run_loop(struct server *server, const struct server_options *options)
{
    uv_check_t turn;
    bool listens = server->listening.fd >= 0;
    if (listens)
        uv_poll_init(&server->loop, &server->accepting, server->listening.fd);
    uv_timer_init(&server->loop, &server->tick);
    uv_check_init(&server->loop, &turn);
    server->accepting.data = server->tick.data = turn.data = server;
    if (listens)
        uv_poll_start(&server->accepting, UV_READABLE, on_connection);
    uv_timer_start(&server->tick, on_tick, TICK_MS, TICK_MS);
    watch_signals(server);
    if (options->while_input) {
        watch_input(server);
        uv_check_start(&turn, on_turn);
    }
    uv_run(&server->loop, UV_RUN_DEFAULT);
    notify("STOPPING=1");
    if (listens) {
        on_connection(&server->accepting, 0, 0); /* accepts waiting clients, which may have sent everything already */
        uv_poll_stop(&server->accepting);
    }
    relay_stop(server->relay);
    gates_stop(server->gates);
    clients_end(&server->clients);
    listening_end(&server->listening);
    quota_keep(&server->quota, &server->clients.jobs);
    metrics_http_stop(server->metrics);
    uv_walk(&server->loop, close_handle, NULL);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    metrics_http_free(server->metrics);
    gates_free(server->gates);
    relay_free(server->relay);
}

/* Returns 0 or -1. Prints a line on stderr if the metrics cannot be served. */
static int start_figures(struct server *server, const struct server_options *options)
{
    if (!options->metrics && !(options->slow_factor > 0))
        return 0;
    struct figures *figures = figures_create(uv_now(&server->loop));
    if (!figures)
        return -1;
    figures->slow_factor = options->slow_factor;
    figures->longest_step_ns = (int64_t)options->flight_ns;
    server->clients.figures = server->clients.remains.figures = figures;
    if (options->metrics)
        server->metrics =
            metrics_http_start(&server->loop, options->metrics, options->metrics_for_all, &server->clients);
    return options->metrics && !server->metrics ? -1 : 0;
}

/* Returns 0, or -1 after a line on stderr. */
static int start_network(struct server *server, const struct server_options *options)
{
    if (options->tls.certificate && !(server->tls = tls_context_create(&options->tls)))
        return -1;
    if (options->address &&
        !(server->gates = gates_start(&server->loop, options->address, server->tls, &server->clients)))
        return -1;
    if (options->relay &&
        !(server->relay = relay_start(&server->loop, options->relay, server->tls, &server->clients)))
        return -1;
    return 0;
}

/* To be called if a part of the collector could not be started. Frees what start_network has started. */
static void stop_early(struct server *server)
{
    gates_stop(server->gates);
    relay_stop(server->relay);
    uv_close((uv_handle_t *)&server->clients.reading, NULL);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    gates_free(server->gates);
    relay_free(server->relay);
}

/* Prints where the collector listens. The collector that `wallshim record` starts (with --while-input) prints
 * nothing, because the user did not start it himself. */
static void tell_ready(const struct server_options *options)
{
    if (!options->while_input)
        say("listening on %s%s%s%s, writing to %s/%s%s%s", options->path ? "unix:" : "",
            options->path ? options->path : "", options->path && options->address ? " and " : "",
            options->address ? options->address : "", options->folder, options->job ? options->job : "JOB",
            options->relay ? ", relaying to " : "", options->relay ? options->relay : "");
    notify("READY=1");
}

int server_run(const struct server_options *options)
{
    struct server server = { .listening.fd = -1, .quota = options->quota };
    umask(077);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    int folder = open_folder(options->folder);
    if (folder < 0)
        return -1;
    int status = options->path ? listening_start(&server.listening, options->path, SOCK_SEQPACKET) : 0;
    if (!status && uv_loop_init(&server.loop)) {
        say("no event loop can be made");
        status = -1;
    }
    if (!status) {
        server.clients = (struct clients){ .limit = clients_limit(options),
                                           .size_limit = options->size_limit,
                                           .jobs = { .folder = folder, .always = options->job },
                                           .memory.limit = MEMORY_MAX,
                                           .patience_ms = options->patience_ns / 1000000,
                                           .loop = &server.loop };
        server.clients.dumps.flights = (struct flight_memory){ .window_ms = options->flight_ns / 1000000,
                                                               .each = options->flight_size,
                                                               .limit = FLIGHTS_MAX };
        server.clients.hang_ms = options->hang_ns / 1000000;
        clients_init(&server.clients);
        status = jobs_begin(&server.clients.jobs);
        if (!status)
            status = start_network(&server, options);
        if (!status)
            status = start_figures(&server, options);
        if (!status) {
            tell_ready(options);
            run_loop(&server, options);
        } else {
            stop_early(&server);
        }
        tls_context_destroy(server.tls);
        figures_destroy(server.clients.figures);
        jobs_finish(&server.clients.jobs);
        uv_loop_close(&server.loop);
    }
    listening_end(&server.listening);
    close(folder);
    return status;
}
