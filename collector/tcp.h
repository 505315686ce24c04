/* A TCP connection that carries messages (wire/channel.h), with TLS or without. Nothing blocks. Memory is bounded: it
 * holds one message that was received, and about two messages that are to be sent. */
#ifndef WALLSHIM_COLLECTOR_TCP_H
#define WALLSHIM_COLLECTOR_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "collector/tls.h"

struct tcp;

struct tcp_events {
    void (*ready)(void *data); /* the connection is made; with TLS, the peer has authenticated */
    /* Returns false if the message cannot be handled now; tcp_resume passes it again. */
    bool (*message)(void *data, const uint8_t *bytes, size_t size);
    void (*space)(void *data); /* after tcp_wait_for_space: there is room for a message */
    /* `status`: 0 if the peer ended in order, else -errno; tcp_why explains it. The receiver of this event must call
     * tcp_destroy. */
    void (*ended)(void *data, int status);
};

/* Takes over a non-blocking socket and `tls`, which may be NULL. `connecting`: connect() was called on the socket.
 * Returns NULL if memory runs out. No event comes before the loop runs. */
struct tcp *tcp_create(uv_loop_t *loop, int fd, struct tls *tls, bool connecting, const struct tcp_events *events,
                       void *data);

bool tcp_is_ready(const struct tcp *tcp);

/* May a message be written? */
bool tcp_has_room(const struct tcp *tcp);

/* Writes a message in two parts. Only allowed while tcp_has_room. Errors are reported later, by the event `ended`. */
void tcp_write(struct tcp *tcp, const uint8_t *head, size_t head_size, const uint8_t *data, size_t size);
void tcp_wait_for_space(struct tcp *tcp);

/* Passes again the message for which `message` returned false, and goes on receiving. */
void tcp_resume(struct tcp *tcp);

/* Finds the name in the peer's certificate. Returns false if it has no usable name. */
bool tcp_peer_name(const struct tcp *tcp, char name[TLS_NAME_SIZE]);
const char *tcp_why(const struct tcp *tcp, int status);

/* Sends what was written, for a few seconds at most, and then destroys the connection. No more events come. */
void tcp_finish(struct tcp *tcp);
void tcp_destroy(struct tcp *tcp);

#endif
