#include "collector/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/minmax.h"
#include "wire/channel.h"

enum {
    READ_SIZE = 16 << 10,
    READS_A_TURN = 16,   /* reads from one connection before other connections are served */
    HANDSHAKE_MS = 5000, /* longest time for connect() and the TLS handshake */
    FINISH_MS = 2000,    /* longest time to send what is left, after tcp_finish */
    SILENCE_MS = 20000,  /* the connection ends if sent bytes are not acknowledged for so long */
    ROOM = 64 << 10,     /* another message may be written while fewer unsent bytes than this wait */
    OUT_MAX = 4 * ROOM,  /* size of `out`: ROOM, one more message, and what TLS adds */
    HANDLES = 2,
};

struct tcp {
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned handles; /* number of libuv handles that are not closed yet */
    int fd, events;
    struct tls *tls;
    bool connecting, ready, paused, wants_space, closing;
    bool finishing, shut; /* tcp_finish was called; all bytes were sent, and shutdown(SHUT_WR) was called */
    int failed;           /* -errno for on_time to report */
    const struct tcp_events *on;
    void *data;
    size_t in_size, out_at, out_size;
    uint8_t in[WS_CHANNEL_MESSAGE_MAX];
    uint8_t out[OUT_MAX];
};

static void on_poll(uv_poll_t *poll, int status, int events);

/* --- the end ------------------------------------------------------------------------------------ */

static void free_tcp(uv_handle_t *handle)
{
    struct tcp *tcp = handle->data;
    if (!--tcp->handles)
        free(tcp);
}

void tcp_destroy(struct tcp *tcp)
{
    if (!tcp || tcp->closing)
        return;
    tcp->closing = true;
    uv_poll_stop(&tcp->poll);
    close(tcp->fd);
    tls_destroy(tcp->tls);
    tcp->tls = NULL;
    uv_close((uv_handle_t *)&tcp->poll, free_tcp);
    uv_close((uv_handle_t *)&tcp->timer, free_tcp);
}

static void end(struct tcp *tcp, int status)
{
    if (tcp->closing)
        return;
    if (tcp->finishing)
        tcp_destroy(tcp);
    else
        tcp->on->ended(tcp->data, status);
}

/* --- to the network ----------------------------------------------------------------------------- */

static void wait_for_events(struct tcp *tcp)
{
    bool writes = tcp->connecting || tcp->wants_space || tcp->out_size;
    bool reads = !tcp->connecting && (!tcp->paused || tcp->finishing);
    int events = (reads ? UV_READABLE : 0) | (writes ? UV_WRITABLE : 0);
    if (tcp->closing || events == tcp->events)
        return;
    tcp->events = events;
    if (events)
        uv_poll_start(&tcp->poll, events, on_poll);
    else
        uv_poll_stop(&tcp->poll);
}

/* Returns 0 or -errno. */
static int flush(struct tcp *tcp)
{
    for (;;) {
        if (tcp->tls)
            tcp->out_size += tls_take(tcp->tls, tcp->out + tcp->out_size, OUT_MAX - tcp->out_size);
        if (tcp->out_at == tcp->out_size)
            break;
        ssize_t sent =
            send(tcp->fd, tcp->out + tcp->out_at, tcp->out_size - tcp->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR)
            return errno == EAGAIN ? 0 : -errno;
        tcp->out_at += sent > 0 ? (size_t)sent : 0;
    }
    tcp->out_at = tcp->out_size = 0;
    return 0;
}

bool tcp_has_room(const struct tcp *tcp)
{
    return tcp->ready && !tcp->closing && !tcp->finishing && tcp->out_size - tcp->out_at < ROOM;
}

static int put(struct tcp *tcp, const uint8_t *bytes, size_t size)
{
    if (tcp->tls)
        return size ? tls_write(tcp->tls, bytes, size) : 0;
    if (size > OUT_MAX - tcp->out_size)
        return -ENOBUFS;
    memcpy(tcp->out + tcp->out_size, bytes, size);
    tcp->out_size += size;
    return 0;
}

static void on_time(uv_timer_t *timer)
{
    struct tcp *tcp = timer->data;
    end(tcp, tcp->failed ? tcp->failed : -ETIMEDOUT);
}

void tcp_write(struct tcp *tcp, const uint8_t *head, size_t head_size, const uint8_t *data, size_t size)
{
    memmove(tcp->out, tcp->out + tcp->out_at, tcp->out_size - tcp->out_at);
    tcp->out_size -= tcp->out_at;
    tcp->out_at = 0;
    int status = put(tcp, head, head_size);
    if (!status && size)
        status = put(tcp, data, size);
    if (!status)
        status = flush(tcp);
    if (status) { /* on_time reports this, because the caller expects no event now */
        tcp->failed = status;
        uv_timer_start(&tcp->timer, on_time, 0, 0);
    }
    wait_for_events(tcp);
}

void tcp_wait_for_space(struct tcp *tcp)
{
    tcp->wants_space = true;
    wait_for_events(tcp);
}

/* --- from the network --------------------------------------------------------------------------- */

/* Passes on all complete messages. Returns 0 or -EBADMSG. */
static int hand_over(struct tcp *tcp)
{
    size_t at = 0;
    int status = 0;
    while (!tcp->closing && !tcp->finishing && !tcp->paused && !status && tcp->in_size - at >= WS_CHANNEL_HEAD_SIZE) {
        size_t size = ws_channel_size(tcp->in + at);
        if (!size)
            status = -EBADMSG;
        else if (tcp->in_size - at < size)
            break;
        else if (tcp->on->message(tcp->data, tcp->in + at, size))
            at += size;
        else
            tcp->paused = true;
    }
    tcp->in_size -= at;
    memmove(tcp->in, tcp->in + at, tcp->in_size);
    return status;
}

static void become_ready(struct tcp *tcp)
{
    tcp->ready = true;
    uv_timer_stop(&tcp->timer);
    tcp->on->ready(tcp->data);
}

/* Continues the TLS handshake, then decrypts what came and passes on its messages. Returns 0: more must come; 1: the
 * peer has ended in order; or -errno. */
static int decrypt(struct tcp *tcp)
{
    if (!tcp->ready) {
        int status = tls_shake_hands(tcp->tls), sent = flush(tcp);
        if (status)
            return status < 0 ? status : sent;
        become_ready(tcp);
    }
    while (!tcp->closing && !tcp->finishing && !tcp->paused) {
        ssize_t size = tls_read(tcp->tls, tcp->in + tcp->in_size, sizeof(tcp->in) - tcp->in_size);
        if (size <= 0)
            return size == -EAGAIN ? 0 : size ? (int)size : 1;
        tcp->in_size += (size_t)size;
        int status = hand_over(tcp);
        if (status)
            return status;
    }
    return 0;
}

/* After tcp_finish: reads and drops the bytes that still come. If they stayed unread, close() would reset the
 * connection, and the bytes that we sent last could be lost. */
static int forget_some(struct tcp *tcp)
{
    ssize_t size = recv(tcp->fd, tcp->in, sizeof(tcp->in), MSG_DONTWAIT);
    return !size ? 1 : size > 0 || errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* Returns 0: no more has come for now; 1: the peer has ended in order; or -errno. */
static int receive_some(struct tcp *tcp)
{
    static uint8_t bytes[READ_SIZE];
    if (tcp->finishing)
        return forget_some(tcp);
    for (int i = 0; i < READS_A_TURN && !tcp->closing && !tcp->finishing && !tcp->paused; i++) {
        uint8_t *to = tcp->tls ? bytes : tcp->in + tcp->in_size;
        size_t most = tcp->tls ? sizeof(bytes) : sizeof(tcp->in) - tcp->in_size;
        ssize_t size = recv(tcp->fd, to, most, MSG_DONTWAIT);
        int status = 0;
        if (size < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        if (!size) /* the connection has ended; with TLS, a peer that ends in order announces it first */
            return tcp->tls || tcp->in_size ? -ECONNRESET : 1;
        if (tcp->tls) {
            status = tls_feed(tcp->tls, bytes, (size_t)size);
            if (!status)
                status = decrypt(tcp);
        } else {
            tcp->in_size += (size_t)size;
            status = hand_over(tcp);
        }
        if (status)
            return status;
    }
    return 0;
}

static void after_receiving(struct tcp *tcp, int status)
{
    if (!status && !tcp->closing)
        status = flush(tcp);
    if (status && !tcp->closing) {
        flush(tcp); /* sends the TLS alert that tells the peer the reason */
        end(tcp, status > 0 ? 0 : status);
    }
    wait_for_events(tcp);
}

void tcp_resume(struct tcp *tcp)
{
    if (!tcp->paused)
        return;
    tcp->paused = false;
    int status = hand_over(tcp);
    if (!status && tcp->tls && !tcp->finishing && !tcp->paused && !tcp->closing)
        status = decrypt(tcp);
    after_receiving(tcp, status);
}

/* --- events ------------------------------------------------------------------------------------- */

static void set_options(const struct tcp *tcp)
{
    static const struct {
        int level, name, value;
    } options[] = { { IPPROTO_TCP, TCP_NODELAY, 1 },   { SOL_SOCKET, SO_KEEPALIVE, 1 },
                    { IPPROTO_TCP, TCP_KEEPIDLE, 10 }, { IPPROTO_TCP, TCP_KEEPINTVL, 5 },
                    { IPPROTO_TCP, TCP_KEEPCNT, 2 },   { IPPROTO_TCP, TCP_USER_TIMEOUT, SILENCE_MS } };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        setsockopt(tcp->fd, options[i].level, options[i].name, &options[i].value, sizeof(options[i].value));
}

/* After tcp_finish: when all bytes were sent, shuts down the direction to the peer. The peer then closes the
 * connection, and on_poll notices that. */
static void shut_if_sent(struct tcp *tcp)
{
    if (!tcp->finishing || tcp->shut || tcp->closing || tcp->out_size)
        return;
    shutdown(tcp->fd, SHUT_WR);
    tcp->shut = true;
}

/* Returns 0 or -errno. */
static int begin(struct tcp *tcp)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (tcp->connecting && (getsockopt(tcp->fd, SOL_SOCKET, SO_ERROR, &error, &size) || error))
        return error ? -error : -errno;
    tcp->connecting = false;
    if (!tcp->tls) {
        become_ready(tcp);
        return 0;
    }
    int status = tls_shake_hands(tcp->tls);
    return status < 0 ? status : flush(tcp);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct tcp *tcp = poll->data;
    int error = 0;
    if (status < 0)
        tcp->events = 0; /* after an error libuv has stopped polling; wait_for_events makes it poll again */
    if (tcp->connecting) {
        error = begin(tcp);
    } else {
        if (events & UV_WRITABLE)
            error = flush(tcp);
        if (!error && (status < 0 || (events & UV_READABLE)))
            error = receive_some(tcp);
    }
    if (!error && !tcp->closing && tcp->wants_space && tcp_has_room(tcp)) {
        tcp->wants_space = false;
        tcp->on->space(tcp->data);
    }
    shut_if_sent(tcp);
    after_receiving(tcp, error);
}

/* Runs in the first iteration of the event loop after tcp_create. An accepted connection without TLS becomes ready
 * now: no handshake follows whose end would make it ready. */
static void on_first_turn(uv_timer_t *timer)
{
    struct tcp *tcp = timer->data;
    uv_timer_start(&tcp->timer, on_time, HANDSHAKE_MS, 0);
    if (!tcp->connecting && !tcp->tls)
        become_ready(tcp);
    wait_for_events(tcp);
}

struct tcp *tcp_create(uv_loop_t *loop, int fd, struct tls *tls, bool connecting, const struct tcp_events *events,
                       void *data)
{
    struct tcp *tcp = calloc(1, sizeof(*tcp));
    if (!tcp || uv_poll_init(loop, &tcp->poll, fd)) {
        free(tcp);
        tls_destroy(tls);
        close(fd);
        return NULL;
    }
    uv_timer_init(loop, &tcp->timer);
    tcp->poll.data = tcp->timer.data = tcp;
    tcp->handles = HANDLES;
    tcp->fd = fd;
    tcp->tls = tls;
    tcp->connecting = connecting;
    tcp->on = events;
    tcp->data = data;
    set_options(tcp);
    uv_timer_start(&tcp->timer, on_first_turn, 0, 0);
    return tcp;
}

bool tcp_is_ready(const struct tcp *tcp)
{
    return tcp->ready;
}

bool tcp_peer_name(const struct tcp *tcp, char name[TLS_NAME_SIZE])
{
    if (tcp->tls)
        return tls_peer_name(tcp->tls, name);
    snprintf(name, TLS_NAME_SIZE, "loopback, no certificate");
    return true;
}

const char *tcp_why(const struct tcp *tcp, int status)
{
    return !status                               ? "the other side has ended it"
           : status == -EPROTO && tcp->tls       ? tls_why(tcp->tls)
           : status == -EBADMSG                  ? "what came is no message"
           : status == -ETIMEDOUT && !tcp->ready ? "the handshake did not end in time"
                                                 : strerror(-status);
}

void tcp_finish(struct tcp *tcp)
{
    if (!tcp || tcp->closing || tcp->finishing)
        return;
    tcp->finishing = true;
    if (tcp->tls && tcp->ready)
        tls_end(tcp->tls);
    if (!tcp->ready || tcp->failed || flush(tcp)) {
        tcp_destroy(tcp);
        return;
    }
    shut_if_sent(tcp);
    uv_timer_start(&tcp->timer, on_time, FINISH_MS, 0);
    wait_for_events(tcp);
}
