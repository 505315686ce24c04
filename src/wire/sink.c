#include "wire/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lowest number for the trace file's descriptor: above the numbers that programs use, below the usual limit of
 * 1024. */
enum { FIRST_DESCRIPTOR = 500 };

/* Uses statx and not fstat. The shim must load in programs with an older glibc, and all versions of glibc export
 * statx under one name, but not fstat. On Linux kernels without statx all open files get the same identity. */
int ws_descriptor_identity(int fd, uint64_t *device, uint64_t *inode)
{
    struct statx facts = { 0 };
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO, &facts) && errno != ENOSYS)
        return -errno;
    *device = (uint64_t)facts.stx_dev_major << 32 | facts.stx_dev_minor;
    *inode = facts.stx_ino;
    return 0;
}

static bool sink_is_ours(const struct ws_file_sink *sink, int fd)
{
    uint64_t device, inode;
    return fd >= 0 && !ws_descriptor_identity(fd, &device, &inode) && device == sink->device && inode == sink->inode;
}

int ws_descriptor_move_high(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

int ws_file_sink_open(struct ws_file_sink *sink, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    return ws_file_sink_adopt(sink, fd, path);
}

int ws_file_sink_adopt(struct ws_file_sink *sink, int fd, const char *path)
{
    *sink = (struct ws_file_sink){ .fd = ws_descriptor_move_high(fd), .path = path };
    int error = ws_descriptor_identity(sink->fd, &sink->device, &sink->inode);
    if (error)
        close(sink->fd);
    return error;
}

/* Opens the file again if its descriptor was closed or reused for another file. */
static int reopen_if_lost(struct ws_file_sink *sink)
{
    if (sink_is_ours(sink, sink->fd))
        return 0;
    sink->fd = -1;
    int fd = open(sink->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (!sink_is_ours(sink, fd)) {
        close(fd);
        return -EBADF;
    }
    sink->fd = ws_descriptor_move_high(fd);
    return 0;
}

int ws_file_sink_write(void *context, const void *bytes, size_t size)
{
    struct ws_file_sink *sink = context;
    int status = reopen_if_lost(sink);
    if (status)
        return status;
    size_t done = 0;
    while (done < size) {
        ssize_t written = pwrite(sink->fd, (const char *)bytes + done, size - done, (off_t)(sink->size + done));
        if (written > 0) {
            done += (size_t)written;
        } else if (!written || errno != EINTR) {
            status = written ? -errno : -ENOSPC;
            /* Cut off the part that was written, because readers count half a frame as damage. If ftruncate fails
             * too, readers can still handle the file. */
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
    int status = sink_is_ours(sink, sink->fd) && close(sink->fd) ? -errno : 0;
    sink->fd = -1;
    return status;
}
