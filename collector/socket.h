/* Makes and removes the Unix socket that clients connect to. */
#ifndef WALLSHIM_COLLECTOR_SOCKET_H
#define WALLSHIM_COLLECTOR_SOCKET_H

#include <stdbool.h>

struct listening {
    int fd;
    char path[108];
    bool made_folder, owns_path;
};

/* Creates the socket, and its folder if necessary, for this user alone, and listens. The socket gets its path only
 * when it already listens, so that no client finds a path at which nobody listens. `type`: SOCK_SEQPACKET or
 * SOCK_STREAM. Returns 0, or -1 after a line on stderr. */
int listening_start(struct listening *listening, const char *path, int type);

/* Removes the socket and its folder, as far as listening_start made them. */
void listening_end(struct listening *listening);

#endif
