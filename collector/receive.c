#include "collector/receive.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/remains.h"

ssize_t receive_message(int fd, uint8_t *bytes, size_t size, int *memory)
{
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = { bytes, size };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))
    };
    ssize_t received = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = received >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int came;
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof(came)))
        return received;
    memcpy(&came, CMSG_DATA(head), sizeof(came));
    if (memory && *memory < 0)
        *memory = remains_check(came);
    else
        close(came);
    return received;
}
