#include "wire/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

size_t ws_attach_name(char *name, size_t capacity, uint64_t pid_namespace, int pid)
{
    *name = 0;
    int length = snprintf(name + 1, capacity - 1, "wallshim-%llu-%d", (unsigned long long)pid_namespace, pid);
    return length > 0 && (size_t)length < capacity - 1 ? (size_t)length + 1 : 0;
}

union room {
    struct cmsghdr header; /* only to align `bytes` */
    char bytes[CMSG_SPACE(sizeof(int))];
};

int ws_attach_send(int socket, const struct ws_attach_message *message, int fd)
{
    struct ws_attach_message sent = *message;
    union room room = { 0 };
    sent.magic = WS_ATTACH_MAGIC;
    sent.version = WS_ATTACH_VERSION;
    sent.text[sizeof(sent.text) - 1] = 0;
    struct iovec part = { &sent, offsetof(struct ws_attach_message, text) + strlen(sent.text) + 1 };
    struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
    if (fd >= 0) {
        packet.msg_control = room.bytes;
        packet.msg_controllen = sizeof(room.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
        *header =
            (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(fd)) };
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    }
    return sendmsg(socket, &packet, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Returns the descriptor that came with the packet, or -1. The kernel delivers at most one descriptor, because the
 * control buffer has no room for more. */
static int descriptor_of(struct msghdr *packet)
{
    int fd = -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(packet);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return fd;
}

int ws_attach_receive(int socket, struct ws_attach_message *message, int *fd)
{
    union room room;
    struct iovec part = { message, sizeof(*message) };
    struct msghdr packet = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof(room.bytes)
    };
    *fd = -1;
    ssize_t size = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
    if (size < 0)
        return -errno;
    if (!size)
        return -EPIPE;
    *fd = descriptor_of(&packet);
    if ((size_t)size > offsetof(struct ws_attach_message, text) && message->magic == WS_ATTACH_MAGIC &&
        message->version == WS_ATTACH_VERSION && !((char *)message)[size - 1])
        return 0;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return -EPROTO;
}
