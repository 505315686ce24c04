/* TLS over memory: bytes of the network go in and out here, and nothing waits. Both sides show a certificate. */
#ifndef WALLSHIM_COLLECTOR_TLS_H
#define WALLSHIM_COLLECTOR_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Paths of PEM files; NULL: not given. All or none are given. */
struct tls_files {
    const char *certificate, *key, *authority;
};

enum { TLS_NAME_SIZE = 256 };

struct tls_context;
struct tls;

/* Reads the files. Returns NULL after a line on stderr. */
struct tls_context *tls_context_create(const struct tls_files *files);
void tls_context_destroy(struct tls_context *context);

/* One connection. host: the name or numeric address that the other side's certificate must have; NULL: this is the
 * side that was connected to. Returns NULL if memory runs out. */
struct tls *tls_create(struct tls_context *context, const char *host);
void tls_destroy(struct tls *tls);

/* Gives bytes that came from the network. Returns 0 or -ENOMEM. */
int tls_feed(struct tls *tls, const uint8_t *bytes, size_t size);

/* Takes bytes that are to be sent over the network; 0: there are none. */
size_t tls_take(struct tls *tls, uint8_t *bytes, size_t size);

/* Goes on with the handshake. Returns 1: more bytes must come; 0: it is done; -EPROTO: it failed, see tls_why. */
int tls_shake_hands(struct tls *tls);

/* Returns the number of bytes; 0: the other side has ended in order; -EAGAIN: more bytes must come; -EPROTO. */
ssize_t tls_read(struct tls *tls, uint8_t *bytes, size_t size);

/* Returns 0 or -EPROTO. All is taken. */
int tls_write(struct tls *tls, const uint8_t *bytes, size_t size);

/* Says that nothing more will be written. */
void tls_end(struct tls *tls);

/* The subject of the other side's certificate, or else its first DNS name. Returns false if it has no name, or one
 * that is too long. */
bool tls_peer_name(const struct tls *tls, char name[TLS_NAME_SIZE]);

/* Why it failed, in words. */
const char *tls_why(const struct tls *tls);

#endif
