#include "collector/metrics_socket.h"

#include <string.h>
#include <sys/socket.h>

#include "collector/address.h"

int metrics_socket_start(struct listening *listening, const char *address, bool for_all)
{
    *listening = (struct listening){ .fd = -1 };
    if (!strncmp(address, "unix:", 5))
        return listening_start(listening, address + 5, SOCK_STREAM);
    listening->fd =
        address_listen("--metrics", address, for_all, "use 127.0.0.1 or unix:PATH, or add --metrics-public");
    return listening->fd < 0 ? -1 : 0;
}
