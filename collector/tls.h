/* TLS without a socket: the caller moves the encrypted bytes from and to the network, so no function of TLS blocks.
 * Both sides must show a certificate. */
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

/* Reads the files. On failure, prints a line on stderr and returns NULL. */
struct tls_context *tls_context_create(const struct tls_files *files);
void tls_context_destroy(struct tls_context *context);

/* Creates one end of a TLS connection. `host` is the name or numeric address that the server's certificate must have;
 * NULL: we are the server. Returns NULL if memory runs out. */
struct tls *tls_create(struct tls_context *context, const char *host);
void tls_destroy(struct tls *tls);

/* Adds bytes that came from the network. Returns 0 or -ENOMEM. */
int tls_feed(struct tls *tls, const uint8_t *bytes, size_t size);

/* Moves encrypted bytes, which the caller must send to the network, into `bytes`. Returns their number; 0: there are
 * none. */
size_t tls_take(struct tls *tls, uint8_t *bytes, size_t size);

/* Continues the handshake. Returns 1: more bytes must come; 0: it is done; -EPROTO: it failed, see tls_why. */
int tls_shake_hands(struct tls *tls);

/* Reads decrypted bytes. Returns their number; 0: the peer has ended in order; -EAGAIN: more bytes must come;
 * -EPROTO: it failed, see tls_why. */
ssize_t tls_read(struct tls *tls, uint8_t *bytes, size_t size);

/* Encrypts all `size` bytes. Returns 0 or -EPROTO. */
int tls_write(struct tls *tls, const uint8_t *bytes, size_t size);

/* Tells the peer that nothing more will be written. */
void tls_end(struct tls *tls);

/* Finds the subject of the peer's certificate, or else its first DNS name. Returns false if there is no name, or if
 * it is too long. */
bool tls_peer_name(const struct tls *tls, char name[TLS_NAME_SIZE]);

/* Returns the reason of the last -EPROTO, in words. */
const char *tls_why(const struct tls *tls);

#endif
