/* The socket that clients connect to. */
#ifndef WALLSHIM_COLLECTOR_SOCKET_H
#define WALLSHIM_COLLECTOR_SOCKET_H

#include <stdbool.h>

struct listening {
    int fd;
    char path[108];
    bool made_folder, owns_path;
};

/* Makes the socket and its folder, both for the user alone, and listens. The path names the socket only once that
 * listens. `type`: SOCK_SEQPACKET or SOCK_STREAM. Returns 0, or -1 after a line on stderr. */
int listening_start(struct listening *listening, const char *path, int type);

/* Removes the socket if it was made here, and its folder if it was made here. */
void listening_end(struct listening *listening);

#endif
