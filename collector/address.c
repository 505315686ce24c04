#include "collector/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/say.h"

enum { BACKLOG = 64 };

const char *address_split(const char *address, char host[ADDRESS_HOST_SIZE])
{
    const char *colon = strrchr(address, ':');
    bool brackets = colon && *address == '[' && colon > address + 1 && colon[-1] == ']';
    size_t length = colon ? (size_t)(colon - address) - (brackets ? 2 : 0) : 0;
    if (!length || length >= ADDRESS_HOST_SIZE || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return NULL;
    memcpy(host, address + brackets, length);
    host[length] = 0;
    return !brackets && strchr(host, ':') ? NULL : colon + 1;
}

bool address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* Parses the host without asking a name server. The caller frees the list. Returns NULL if the host is neither
 * numeric nor "localhost". */
static struct addrinfo *numeric(const char *host, const char *port)
{
    const struct addrinfo wanted = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                     .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    return getaddrinfo(strcmp(host, "localhost") ? host : "127.0.0.1", port, &wanted, &found) ? NULL : found;
}

bool address_names_loopback(const char *host)
{
    struct addrinfo *found = numeric(host, "1");
    bool is = found && address_is_loopback(found->ai_addr);
    if (found)
        freeaddrinfo(found);
    return is;
}

/* Returns the socket or -errno. */
static int listen_at(const struct addrinfo *found)
{
    const int one = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, BACKLOG)) {
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

int address_listen(const char *what, const char *address, bool for_all, const char *otherwise)
{
    char host[ADDRESS_HOST_SIZE];
    const char *port = address_split(address, host);
    struct addrinfo *found = port ? numeric(host, port) : NULL;
    int fd = -1;
    if (!found) {
        say("%s %s: give unix:PATH, or HOST:PORT with a numeric host or localhost", what, address);
    } else if (!for_all && !address_is_loopback(found->ai_addr)) {
        say("%s %s: other machines can reach this address; %s", what, address, otherwise);
    } else {
        fd = listen_at(found);
        if (fd < 0)
            say("%s %s: %s", what, address, strerror(-fd));
    }
    if (found)
        freeaddrinfo(found);
    return fd < 0 ? -1 : fd;
}
