/* Reads TCP addresses of the form HOST:PORT, and listens at them. */
#ifndef WALLSHIM_COLLECTOR_ADDRESS_H
#define WALLSHIM_COLLECTOR_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

enum { ADDRESS_HOST_SIZE = 256 };

/* Splits HOST:PORT, or [HOST]:PORT for IPv6. Returns the port as a pointer into `address`, or NULL if the text is no
 * such address. */
const char *address_split(const char *address, char host[ADDRESS_HOST_SIZE]);

bool address_is_loopback(const struct sockaddr *address);

/* Is `host` a numeric address of the loopback, such as 127.0.0.1 or ::1, or the word "localhost"? */
bool address_names_loopback(const char *host);

/* Listens at a numeric address or at localhost. Without `for_all`, refuses addresses that other machines can reach.
 * The message about such a refusal ends with `otherwise`, which tells what the user can give instead. Returns a
 * non-blocking socket. On failure, prints a line on stderr that begins with `what` and the address, and returns
 * -1. */
int address_listen(const char *what, const char *address, bool for_all, const char *otherwise);

#endif
