#include "wire/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int ws_file_sink_open(struct ws_file_sink *sink, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    *sink = (struct ws_file_sink){ .fd = fd };
    return 0;
}

int ws_file_sink_write(void *context, const void *bytes, size_t size)
{
    struct ws_file_sink *sink = context;
    size_t done = 0;
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
    int status = close(sink->fd) ? -errno : 0;
    sink->fd = -1;
    return status;
}
