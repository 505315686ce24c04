#include "wire/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Which file the number means; 0 where the kernel does not tell. statx, since every glibc has it under one name. */
static uint64_t inode_of(int fd)
{
    struct statx file;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO, &file) || !(file.stx_mask & STATX_INO))
        return 0;
    return file.stx_ino ^ (uint64_t)file.stx_dev_major << 52 ^ (uint64_t)file.stx_dev_minor << 40;
}

/* A program may have closed our number and taken it for a file of its own. */
static bool still_ours(const struct ws_file_sink *sink)
{
    return inode_of(sink->fd) == sink->inode;
}

int ws_file_sink_open(struct ws_file_sink *sink, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    *sink = (struct ws_file_sink){ .fd = fd, .inode = inode_of(fd) };
    return 0;
}

int ws_file_sink_write(void *context, const void *bytes, size_t size)
{
    struct ws_file_sink *sink = context;
    size_t done = 0;
    if (!still_ours(sink))
        return -EBADF;
    while (done < size) {
        ssize_t written = pwrite(sink->fd, (const char *)bytes + done, size - done, (off_t)(sink->size + done));
        if (written > 0) {
            done += (size_t)written;
        } else if (!written || errno != EINTR) {
            int status = written ? -errno : -ENOSPC;
            /* Half a frame would be a torn tail; if even this fails, readers cope with one. */
            int ignored = done ? ftruncate(sink->fd, (off_t)sink->size) : 0;
            (void)ignored;
            return status;
        }
    }
    sink->size += size;
    return 0;
}

int ws_file_sink_close(struct ws_file_sink *sink)
{
    if (!still_ours(sink))
        return -EBADF;
    int status = close(sink->fd) ? -errno : 0;
    sink->fd = -1;
    return status;
}
