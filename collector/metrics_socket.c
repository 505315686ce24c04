#include "collector/metrics_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/say.h"

enum { BACKLOG = 16, HOST_SIZE = 64 };

/* Splits HOST:PORT; [HOST]:PORT for IPv6. Returns the port, or NULL. */
static const char *split(const char *address, char host[HOST_SIZE])
{
    const char *colon = strrchr(address, ':');
    bool brackets = colon && *address == '[' && colon > address + 1 && colon[-1] == ']';
    size_t length = colon ? (size_t)(colon - address) - (brackets ? 2 : 0) : 0;
    if (!length || length >= HOST_SIZE || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return NULL;
    memcpy(host, address + brackets, length);
    host[length] = 0;
    if (!brackets && strchr(host, ':'))
        return NULL;
    if (!strcmp(host, "localhost"))
        snprintf(host, HOST_SIZE, "127.0.0.1");
    return colon + 1;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int listen_at(struct listening *listening, const struct addrinfo *found)
{
    const int one = 1;
    listening->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening->fd < 0)
        return -errno;
    setsockopt(listening->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listening->fd, found->ai_addr, found->ai_addrlen) || listen(listening->fd, BACKLOG)) {
        int error = -errno;
        close(listening->fd);
        listening->fd = -1;
        return error;
    }
    return 0;
}

static int start_tcp(struct listening *listening, const char *address, bool for_all)
{
    const struct addrinfo wanted = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                     .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char host[HOST_SIZE];
    const char *port = split(address, host);
    int status = -EINVAL;
    if (!port || getaddrinfo(host, port, &wanted, &found)) {
        say("--metrics %s: give unix:PATH, or HOST:PORT with a numeric host or localhost", address);
    } else if (!for_all && !is_loopback(found->ai_addr)) {
        say("--metrics %s: other machines can reach this address; use 127.0.0.1 or unix:PATH, or add "
            "--metrics-public",
            address);
    } else {
        status = listen_at(listening, found);
        if (status)
            say("--metrics %s: %s", address, strerror(-status));
    }
    if (found)
        freeaddrinfo(found);
    return status ? -1 : 0;
}

int metrics_socket_start(struct listening *listening, const char *address, bool for_all)
{
    *listening = (struct listening){ .fd = -1 };
    if (!strncmp(address, "unix:", 5))
        return listening_start(listening, address + 5, SOCK_STREAM);
    return start_tcp(listening, address, for_all);
}
