#include "collector/gate.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/address.h"
#include "collector/say.h"
#include "collector/tcp.h"

enum {
    ACCEPTED_A_TURN = 16,
    STRANGERS_MAX = 64, /* most connections that have not authenticated yet; if more come, the oldest is closed */
    SAID_MAX = 20,      /* most refused connections that are logged, so that repeated ones do not fill the log */
};

struct gate {
    struct gate *next;
    struct gates *all;
    struct tcp *tcp;
    uv_poll_t poll; /* watches the descriptor `pair` */
    int pair;       /* our end of the socket pair; -1: the peer has not authenticated yet */
    int events;
    bool full; /* the socket pair has no room for the next message */
    char peer[80];
};

struct gates {
    uv_loop_t *loop;
    struct clients *clients;
    struct tls_context *tls;
    uv_poll_t accepting;
    int fd;
    struct gate *first; /* list, newest connection first */
    unsigned strangers, said;
};

/* --- one connection ----------------------------------------------------------------------------- */

static void free_gate(uv_handle_t *handle)
{
    free(handle->data);
}

/* Closes the connection and frees the gate. `in_order`: first sends the answers that still wait to be sent. */
static void gate_close(struct gate *gate, bool in_order)
{
    struct gate **link = &gate->all->first;
    while (*link != gate)
        link = &(*link)->next;
    *link = gate->next;
    if (in_order)
        tcp_finish(gate->tcp);
    else
        tcp_destroy(gate->tcp);
    if (gate->pair < 0) {
        gate->all->strangers--;
        free(gate);
        return;
    }
    uv_poll_stop(&gate->poll);
    close(gate->pair);
    uv_close((uv_handle_t *)&gate->poll, free_gate);
}

static void on_pair(uv_poll_t *poll, int status, int events);

static void watch_pair(struct gate *gate)
{
    int events = (tcp_has_room(gate->tcp) ? UV_READABLE : 0) | (gate->full ? UV_WRITABLE : 0);
    if (!(events & UV_READABLE))
        tcp_wait_for_space(gate->tcp);
    if (events == gate->events)
        return;
    gate->events = events;
    if (events)
        uv_poll_start(&gate->poll, events, on_pair);
    else
        uv_poll_stop(&gate->poll);
}

/* Sends the client's answers to the peer. Returns false if the gate is closed now. */
static bool take_answers(struct gate *gate)
{
    uint8_t bytes[WS_CHANNEL_START_SIZE];
    while (tcp_has_room(gate->tcp)) {
        ssize_t size = recv(gate->pair, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        if (size < 0 && errno == ECONNRESET)
            continue; /* the client closed its end without reading all messages; its answers can still be read */
        if (size <= 0) {
            gate_close(gate, true);
            return false;
        }
        tcp_write(gate->tcp, bytes, (size_t)size, NULL, 0);
    }
    return true;
}

static void on_pair(uv_poll_t *poll, int status, int events)
{
    struct gate *gate = poll->data;
    if (status < 0)
        gate->events = 0; /* after an error libuv has stopped polling; watch_pair makes it poll again */
    if ((status < 0 || (events & UV_READABLE)) && !take_answers(gate))
        return;
    if ((events & UV_WRITABLE) && gate->full) {
        gate->full = false;
        tcp_resume(gate->tcp); /* may close the gate, but does not free it yet */
        if (uv_is_closing((uv_handle_t *)&gate->poll))
            return;
    }
    watch_pair(gate);
}

static void say_refused(struct gate *gate, const char *why)
{
    if (gate->all->said++ < SAID_MAX)
        say("a connection from %s is refused: %s", gate->peer, why);
}

/* Makes the peer a client, through a socket pair. By now the peer has authenticated, or there is no TLS and the peer
 * is on this machine. */
static void on_ready(void *data)
{
    struct gate *gate = data;
    struct gates *all = gate->all;
    char name[TLS_NAME_SIZE];
    int pair[2];
    if (!tcp_peer_name(gate->tcp, name)) {
        say_refused(gate, "its certificate has no name, or too long a one");
        all->clients->jobs.refused_clients++;
        gate_close(gate, false);
        return;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
        gate_close(gate, false);
        return;
    }
    if (uv_poll_init(all->loop, &gate->poll, pair[0])) {
        close(pair[0]);
        close(pair[1]);
        gate_close(gate, false);
        return;
    }
    all->strangers--;
    gate->poll.data = gate;
    gate->pair = pair[0];
    client_accept_remote(all->clients, pair[1], name);
    watch_pair(gate);
}

static bool on_message(void *data, const uint8_t *bytes, size_t size)
{
    struct gate *gate = data;
    if (send(gate->pair, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return true;
    gate->full = errno == EAGAIN || errno == ENOBUFS;
    watch_pair(gate); /* polls until the pair has room again; if the client is gone, on_pair sends its last answers */
    return !gate->full;
}

static void on_space(void *data)
{
    struct gate *gate = data;
    if (gate->pair >= 0 && take_answers(gate))
        watch_pair(gate);
}

static void on_end(void *data, int status)
{
    struct gate *gate = data;
    if (gate->pair < 0) {
        say_refused(gate, tcp_why(gate->tcp, status));
        gate->all->clients->jobs.refused_clients++;
    }
    gate_close(gate, false);
}

/* --- all connections ---------------------------------------------------------------------------- */

static void make_room(struct gates *gates)
{
    struct gate *oldest = NULL;
    if (gates->strangers < STRANGERS_MAX)
        return;
    for (struct gate *gate = gates->first; gate; gate = gate->next)
        if (gate->pair < 0)
            oldest = gate;
    if (!oldest)
        return;
    say_refused(oldest, "others came before it had said who it is");
    gates->clients->jobs.refused_clients++;
    gate_close(oldest, false);
}

static void let_in(struct gates *gates, int fd, const struct sockaddr *from, socklen_t size)
{
    static const struct tcp_events events = { on_ready, on_message, on_space, on_end };
    char host[64] = "?", port[16] = "?";
    make_room(gates);
    struct gate *gate = calloc(1, sizeof(*gate));
    struct tls *tls = gates->tls ? tls_create(gates->tls, NULL) : NULL;
    if (!gate || (gates->tls && !tls)) {
        tls_destroy(tls);
        free(gate);
        close(fd);
        return;
    }
    gate->tcp = tcp_create(gates->loop, fd, tls, false, &events, gate);
    if (!gate->tcp) {
        free(gate);
        return;
    }
    getnameinfo(from, size, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(gate->peer, sizeof(gate->peer), "%s port %s", host, port);
    gate->all = gates;
    gate->pair = -1;
    gate->next = gates->first;
    gates->first = gate;
    gates->strangers++;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct gates *gates = poll->data;
    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTED_A_TURN; i++) {
        struct sockaddr_storage from;
        socklen_t size = sizeof(from);
        int fd = accept4(gates->fd, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        let_in(gates, fd, (const struct sockaddr *)&from, size);
    }
}

struct gates *gates_start(uv_loop_t *loop, const char *address, struct tls_context *tls, struct clients *clients)
{
    int fd = address_listen("--listen", address, tls != NULL,
                            "give --tls-cert, --tls-key and --tls-ca, or listen at 127.0.0.1");
    struct gates *gates = fd < 0 ? NULL : calloc(1, sizeof(*gates));
    if (!gates || uv_poll_init(loop, &gates->accepting, fd)) {
        if (fd >= 0)
            close(fd);
        free(gates);
        return NULL;
    }
    gates->loop = loop;
    gates->clients = clients;
    gates->tls = tls;
    gates->fd = fd;
    gates->accepting.data = gates;
    uv_poll_start(&gates->accepting, UV_READABLE, on_connection);
    return gates;
}

void gates_stop(struct gates *gates)
{
    if (!gates)
        return;
    for (struct gate *gate = gates->first, *next; gate; gate = next) {
        next = gate->next;
        gate_close(gate, false);
    }
    uv_poll_stop(&gates->accepting);
    close(gates->fd);
    uv_close((uv_handle_t *)&gates->accepting, NULL);
}

void gates_free(struct gates *gates)
{
    free(gates);
}
