#include "collector/relay_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/minmax.h"
#include "wire/frame.h"

enum { UNITS_A_TURN = 4096 };

int64_t relay_file_read(const struct relay_file *file, uint64_t at, uint8_t *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(file->fd, bytes + done, size - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (!got)
            break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

/* Returns the size of the unit (file header, frame or trailer) at the offset `at` of the file. Returns 0 if no unit
 * is there or a frame's header is incomplete. */
static uint64_t unit_size(const struct relay_file *file, uint64_t at)
{
    uint8_t bytes[WS_FRAME_HEADER_SIZE], begin[WS_FILE_HEADER_SIZE];
    struct ws_file_header header;
    struct ws_frame_header frame;
    uint64_t footer;
    int64_t size = relay_file_read(file, at, bytes, sizeof(bytes));
    if (!at)
        return size >= WS_FILE_HEADER_SIZE ? WS_FILE_HEADER_SIZE : 0;
    if (size >= WS_FRAME_HEADER_SIZE && ws_frame_header_read(bytes, &frame))
        return WS_FRAME_HEADER_SIZE + (uint64_t)frame.stored_size;
    if (size < WS_TRAILER_SIZE || relay_file_read(file, 0, begin, sizeof(begin)) != sizeof(begin) ||
        ws_file_header_read(begin, &header) || !ws_trailer_read(bytes, header.file_id, &footer))
        return 0;
    return WS_TRAILER_SIZE;
}

bool relay_file_look(struct relay_file *file, uint64_t limit)
{
    struct stat about;
    if (fstat(file->fd, &about))
        return true;
    limit = ws_min(limit, (uint64_t)about.st_size);
    for (int i = 0; i < UNITS_A_TURN; i++) {
        uint64_t size = file->end < limit ? unit_size(file, file->end) : 0;
        if (!size || size > limit - file->end)
            return true;
        file->end += size;
    }
    return false;
}
