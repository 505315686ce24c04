/* Addresses HOST:PORT of TCP. */
#ifndef WALLSHIM_COLLECTOR_ADDRESS_H
#define WALLSHIM_COLLECTOR_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

enum { ADDRESS_HOST_SIZE = 256 };

/* Splits HOST:PORT; [HOST]:PORT for IPv6. Returns the port, a number in `address`, or NULL. */
const char *address_split(const char *address, char host[ADDRESS_HOST_SIZE]);

bool address_is_loopback(const struct sockaddr *address);

/* Does the text name the loopback, as a number or as "localhost"? */
bool address_names_loopback(const char *host);

/* Listens at a numeric address, or at localhost. Returns the socket, which does not block; or -1 after a line on
 * stderr that begins with `what` and the address. Without `for_all` only addresses of the loopback are allowed;
 * `otherwise`: what to do about others. */
int address_listen(const char *what, const char *address, bool for_all, const char *otherwise);

#endif
