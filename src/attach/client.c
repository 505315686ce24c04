#include "attach/client.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_S = 8 }; /* longest wait in seconds for the shim to accept a request, and again to answer it */

int ws_client_socket(const struct ws_process_facts *process)
{
    char path[64];
    uint64_t own = ws_own_namespace(WS_NAMESPACE_NET), other = process->namespaces[WS_NAMESPACE_NET];
    if (!other || own == other)
        return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(path, sizeof(path), "/proc/%d/ns/net", process->pid);
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), there = open(path, O_RDONLY | O_CLOEXEC), made = -1;
    if (home >= 0 && there >= 0 && !setns(there, CLONE_NEWNET)) {
        made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (setns(home, CLONE_NEWNET)) { /* no harm: this command does not need its own network namespace later */
        }
    }
    int error = errno;
    if (home >= 0)
        close(home);
    if (there >= 0)
        close(there);
    errno = error;
    return made;
}

/* Checks that the process itself is at the other end of the socket. Another program may have bound the process's
 * socket name before the process did. */
static int check_peer(int fd, const struct ws_process_facts *process)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        return -errno;
    return peer.pid == process->pid ? 0 : -EACCES;
}

int ws_client_connect(const struct ws_process_facts *process)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    if (ws_process_is_stopped(process))
        return -EBUSY;
    size_t length = ws_attach_name(address.sun_path, sizeof(address.sun_path), process->namespaces[WS_NAMESPACE_PID],
                                   process->inner_pid);
    int fd = ws_client_socket(process);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    int error = connect(fd, (struct sockaddr *)&address, size) ? -errno : check_peer(fd, process);
    if (!error)
        return fd;
    close(fd);
    return error;
}

int ws_client_ask(int fd, struct ws_attach_message *message, int with)
{
    int came;
    int error = ws_attach_send(fd, message, with);
    if (!error)
        error = ws_attach_receive(fd, message, &came);
    if (!error && came >= 0)
        close(came);
    return error == -EAGAIN ? -ETIMEDOUT : error;
}
