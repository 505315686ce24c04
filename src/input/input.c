#include "input/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/minmax.h"
#include "input/ahead.h"

enum { PACKED_PIECE = 64 * 1024, AHEAD_PIECE = 256 * 1024, GZIP_WINDOW = 15 + 16 };

/* Decompression stops with -E2BIG beyond a limit, against decompression bombs: UNPACKED_ANYHOW bytes, plus
 * MOST_UNPACKED times the bytes read from the file. A decompressed trace is fifteen to forty times as large as the
 * file. A decompressed bomb can be a thousand times as large. */
enum { MOST_UNPACKED = 200, UNPACKED_ANYHOW = 64 << 20 };

struct input_piece {
    ssize_t size;          /* number of bytes in the piece; 0: the end of the file; below 0: -errno */
    uint64_t done;         /* offset in the (compressed) file after the bytes of this piece */
    enum ws_input_end end; /* how the file ends, as far as known after this piece */
    unsigned char bytes[AHEAD_PIECE];
};

struct ws_input {
    /* Only the thread that calls ws_input_read uses `ahead`, `ready` and `ready_taken`. If a helper thread reads
     * ahead, only the helper thread uses the other fields, except `packed` and `total`, which do not change. Without
     * a helper thread, `ahead` is NULL. */
    struct ws_ahead *ahead;
    const struct input_piece *ready; /* the piece from which ws_input_read copies */
    size_t ready_taken;

    int file;
    bool packed;
    bool between; /* the last byte read was the end of a gzip member */
    bool ended;   /* nothing more is read from the file */
    enum ws_input_end end;
    uint64_t done, total, unpacked;
    z_stream stream;
    unsigned char piece[PACKED_PIECE];
};

static ssize_t read_file(struct ws_input *input, void *to, size_t size)
{
    ssize_t got;
    do
        got = read(input->file, to, size);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        input->done += (uint64_t)got;
    return got < 0 ? -errno : got;
}

int ws_input_open(struct ws_input **result, const char *path)
{
    unsigned char head[2];
    struct stat about;
    struct ws_input *input = calloc(1, sizeof(*input));
    int status = input ? 0 : -ENOMEM;
    if (status)
        return status;
    input->file = open(path, O_RDONLY | O_CLOEXEC);
    if (input->file < 0 || fstat(input->file, &about)) {
        status = -errno;
        goto failed;
    }
    input->total = (uint64_t)about.st_size;
    input->packed = pread(input->file, head, sizeof(head), 0) == sizeof(head) && head[0] == 0x1f && head[1] == 0x8b;
    if (input->packed && inflateInit2(&input->stream, GZIP_WINDOW) != Z_OK) {
        status = -ENOMEM;
        goto failed;
    }
    *result = input;
    return 0;
failed:
    if (input->file >= 0)
        close(input->file);
    free(input);
    return status;
}

static int input_fill(struct ws_input *input)
{
    ssize_t got = read_file(input, input->piece, sizeof(input->piece));
    if (got < 0)
        return (int)got;
    input->stream.next_in = input->piece;
    input->stream.avail_in = (unsigned)got;
    if (!got) {
        input->ended = true;
        input->end = input->between ? WS_INPUT_WHOLE : WS_INPUT_CUT;
    }
    return 0;
}

/* Reads a piece of the file if needed, and decompresses as much of it as fits the output. Returns 0 or -errno. */
static int unpack(struct ws_input *input)
{
    if (!input->stream.avail_in) {
        int status = input_fill(input);
        if (status || input->ended)
            return status;
    }
    if (input->between &&
        input->stream.next_in[0] != 0x1f) { /* ignore the bytes after the last gzip member: they are not gzip */
        input->ended = true;
        return 0;
    }
    input->between = false;
    int status = inflate(&input->stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
        input->between = true;
        status = inflateReset(&input->stream);
    }
    if (status == Z_MEM_ERROR)
        return -ENOMEM;
    if (status != Z_OK && status != Z_BUF_ERROR) {
        input->ended = true;
        input->end = WS_INPUT_DAMAGED;
    }
    return 0;
}

static ssize_t read_unpacked(struct ws_input *input, void *to, size_t size)
{
    input->stream.next_out = to;
    input->stream.avail_out = (unsigned)size;
    int status = 0;
    while (!status && !input->ended && input->stream.avail_out)
        status = unpack(input);
    input->unpacked += size - input->stream.avail_out;
    if (!status && input->unpacked > UNPACKED_ANYHOW + MOST_UNPACKED * input->done)
        status = -E2BIG;
    return status ? status : (ssize_t)(size - input->stream.avail_out);
}

static uint64_t position_of(const struct ws_input *input)
{
    return input->done - (input->packed ? input->stream.avail_in : 0);
}

static bool fill_ahead(void *user, void *place)
{
    struct ws_input *input = user;
    struct input_piece *piece = place;
    piece->size = read_unpacked(input, piece->bytes, sizeof(piece->bytes));
    piece->done = position_of(input);
    piece->end = input->end;
    return piece->size > 0;
}

void ws_input_read_ahead(struct ws_input *input)
{
    if (input->packed && !input->ahead)
        input->ahead = ws_ahead_start(sizeof(struct input_piece), fill_ahead, input);
}

static ssize_t read_ready(struct ws_input *input, void *to, size_t size)
{
    if (!input->ready || input->ready_taken == (size_t)input->ready->size) {
        input->ready = ws_ahead_next(input->ahead);
        input->ready_taken = 0;
    }
    if (input->ready->size <= 0)
        return input->ready->size;
    size = ws_min(size, (size_t)input->ready->size - input->ready_taken);
    memcpy(to, input->ready->bytes + input->ready_taken, size);
    input->ready_taken += size;
    return (ssize_t)size;
}

ssize_t ws_input_read(struct ws_input *input, void *to, size_t size)
{
    if (!input->packed)
        return read_file(input, to, size);
    return input->ahead ? read_ready(input, to, size) : read_unpacked(input, to, size);
}

enum ws_input_end ws_input_end(const struct ws_input *input)
{
    if (input->ahead)
        return input->ready ? input->ready->end : WS_INPUT_WHOLE;
    return input->end;
}

void ws_input_position(const struct ws_input *input, uint64_t *done, uint64_t *total)
{
    if (input->ahead)
        *done = input->ready ? input->ready->done : 0;
    else
        *done = position_of(input);
    *total = input->total;
}

void ws_input_close(struct ws_input *input)
{
    if (!input)
        return;
    ws_ahead_stop(input->ahead, NULL);
    if (input->packed)
        inflateEnd(&input->stream);
    close(input->file);
    free(input);
}
