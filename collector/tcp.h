/* A TCP connection that carries messages (wire/channel.h), with TLS or without. Nothing waits; what it keeps is
 * bounded: one message that came, and about two that are to be sent. */
#ifndef WALLSHIM_COLLECTOR_TCP_H
#define WALLSHIM_COLLECTOR_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "collector/tls.h"

struct tcp;

struct tcp_events {
    void (*ready)(void *data); /* it is connected, and with TLS the other side is whom it says to be */
    /* Returns false if the message cannot be taken now: tcp_resume gives it again. */
    bool (*message)(void *data, const uint8_t *bytes, size_t size);
    void (*space)(void *data); /* more can be written: after tcp_wait_for_space */
    /* 0: the other side ended in order; or -errno; -EPROTO: see tcp_why. The connection is to be destroyed then. */
    void (*ended)(void *data, int status);
};

/* Takes over the socket, which does not block, and `tls` (NULL: none). connecting: connect() was called on it.
 * Returns NULL if memory runs out. No event comes before the loop runs. */
struct tcp *tcp_create(uv_loop_t *loop, int fd, struct tls *tls, bool connecting, const struct tcp_events *events,
                       void *data);

bool tcp_is_ready(const struct tcp *tcp);

/* May a message be written? */
bool tcp_has_room(const struct tcp *tcp);

/* Writes a message, in two parts. tcp_has_room was true. An error is told by the event `ended`, later. */
void tcp_write(struct tcp *tcp, const uint8_t *head, size_t head_size, const uint8_t *data, size_t size);
void tcp_wait_for_space(struct tcp *tcp);

/* Gives the message again that was not taken, and goes on. */
void tcp_resume(struct tcp *tcp);

/* The name of the other side's certificate. Returns false if it has none that can be used. */
bool tcp_peer_name(const struct tcp *tcp, char name[TLS_NAME_SIZE]);
const char *tcp_why(const struct tcp *tcp, int status);

/* Sends what was written, for some seconds at most, and then destroys it. No more events come. */
void tcp_finish(struct tcp *tcp);
void tcp_destroy(struct tcp *tcp);

#endif
