#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "input/perfetto.h"
#include "input/source.h"
#include "progress.h"
#include "scratch.h"

#ifdef WS_HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

enum { PIECE = 64 * 1024 };

/* Reads until the piece is full or the input ends, because a pipe may return fewer bytes than requested. Returns the
 * number of bytes, or -errno. */
static ssize_t unpack_read(int from, unsigned char piece[PIECE])
{
    size_t size = 0;
    while (size < PIECE) {
        ssize_t got = read(from, piece + size, PIECE - size);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (!got)
            break;
        size += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)size;
}

/* Maximum number of bytes to copy from an input that does not begin like a trace. Such an input may be endless
 * (/dev/zero). */
enum { UNKNOWN_MOST = 64 << 20 };

static int copy_to(int to, int from, const char *name)
{
    static unsigned char piece[PIECE];
    struct tool_progress progress;
    uint64_t done = 0, most = UINT64_MAX;
    ssize_t got;
    int status = 0;
    tool_progress_start(&progress);
    while (!status && done < most && (got = unpack_read(from, piece)) > 0) {
        if (!done && ws_source_kind_of(piece, (size_t)got) == WS_SOURCE_UNKNOWN)
            most = UNKNOWN_MOST;
        status = tool_scratch_write(to, name, piece, (size_t)got);
        done += (uint64_t)got;
        tool_progress_count(&progress, "reading…", done);
    }
    tool_progress_end(&progress);
    if (status)
        return status;
    if (got < 0)
        return tool_error("%s: cannot be read: %s", name, strerror((int)-got));
    return done ? 0 : tool_error("%s: is empty: no trace came", name);
}

int tool_copy(int from, const char *name, char **path)
{
    int to = tool_scratch_create(path);
    if (to < 0)
        return TOOL_ERROR;
    int status = copy_to(to, from, name);
    close(to);
    if (status) {
        tool_scratch_remove(*path);
        *path = NULL;
    }
    return status;
}

#ifdef WS_HAVE_PROTOBUF

int tool_unpack_perfetto(const char *name, const char *path, char **json)
{
    char message[256];
    int to = tool_scratch_create(json);
    FILE *out = to < 0 ? NULL : fdopen(to, "w");
    if (to < 0)
        return TOOL_ERROR;
    int status = out ? 0 : tool_error("out of memory");
    if (!status && ws_perfetto_to_json(path, out, message, sizeof(message)))
        status = tool_error("%s: %s", name, message);
    if (out)
        fclose(out);
    else
        close(to);
    if (status) {
        tool_scratch_remove(*json);
        *json = NULL;
    }
    return status;
}

#else

int tool_unpack_perfetto(const char *name, const char *path, char **json)
{
    (void)path;
    *json = NULL;
    return tool_error("%s: a Perfetto trace, and this wallshim was built without libprotobuf-c", name);
}

#endif

void tool_unpacked_finish(struct ws_vector *files)
{
    struct tool_unpacked *list = files->data;
    for (size_t i = 0; i < files->count; i++) {
        free(list[i].name);
        free(list[i].path);
    }
    ws_vector_finish(files);
}

#ifdef WS_HAVE_LIBARCHIVE

/* Limits against decompression bombs. They are the same as in src/input/input.c: a file may unpack to UNPACKED_ANYHOW
 * bytes plus MOST_UNPACKED times its own size. Unpacked traces are 15 to 100 times as large as packed ones. DEEPEST
 * is the maximum depth of archives in archives, below the file on the command line. */
enum { MOST_UNPACKED = 200, UNPACKED_ANYHOW = 64 << 20, MOST_FILES = 1 << 16, DEEPEST = 3 };

struct unpacking {
    const char *name;
    struct archive *archive;
    struct ws_vector *files;
    struct tool_progress progress;
    uint64_t packed; /* size of the packed file */
    uint64_t left;   /* bytes that may still be unpacked, from this file and from all archives around and in it */
    size_t found;    /* value of files->count before this archive was unpacked */
    unsigned depth;  /* how many archives enclose this file; 0: it is on the command line */
    bool is_archive;
    bool too_large;
    unsigned char piece[PIECE];
};

static int unpack_within(struct unpacking *outer, struct tool_unpacked *member);

static void unpacked_clear(struct tool_unpacked *file)
{
    free(file->name);
    tool_scratch_remove(file->path);
}

/* Returns the name of a member: "ranks.tar.gz/rank0.json". A file that is packed without an archive keeps the name of
 * the packed file. */
static char *member_name(const struct unpacking *unpacking, struct archive_entry *entry)
{
    char *result;
    const char *name = archive_entry_pathname_utf8(entry);
    if (!unpacking->is_archive)
        return strdup(unpacking->name);
    name = name ? name : archive_entry_pathname(entry);
    name = name && !strncmp(name, "./", 2) ? name + 2 : name;
    return asprintf(&result, "%s/%s", unpacking->name, name ? name : "?") < 0 ? NULL : result;
}

/* Reads a piece of the member. Returns the number of bytes, 0 at the member's end, or -1. */
static ssize_t read_member(struct unpacking *unpacking)
{
    ssize_t got = archive_read_data(unpacking->archive, unpacking->piece, PIECE);
    uint64_t done = (uint64_t)archive_filter_bytes(unpacking->archive, -1);
    if (got > 0 && (uint64_t)got > unpacking->left) {
        unpacking->too_large = true;
        return -1;
    }
    unpacking->left -= got > 0 ? (uint64_t)got : 0;
    tool_progress_say(&unpacking->progress, "unpacking…", done, unpacking->packed);
    return got < 0 ? -1 : got;
}

/* Writes the member to a temporary file. The first `got` bytes are already in `piece`. Returns 0, -1 if the rest
 * cannot be read, or TOOL_ERROR. */
static int write_member(struct unpacking *unpacking, int to, ssize_t got)
{
    int status = 0;
    for (; got > 0 && !status; got = status ? 0 : read_member(unpacking))
        status = tool_scratch_write(to, unpacking->name, unpacking->piece, (size_t)got);
    return status ? status : (int)got;
}

/* Unpacks a member of an archive if it may be a trace. Reads other members too, so that their unpacked bytes count
 * for the limit `left`. Returns the same values as write_member. */
static int unpack_member(struct unpacking *unpacking, struct archive_entry *entry)
{
    struct tool_unpacked file = { 0 };
    bool regular = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry);
    ssize_t got = read_member(unpacking);
    if (!regular || got <= 0 ||
        (unpacking->is_archive && ws_source_kind_of(unpacking->piece, (size_t)got) == WS_SOURCE_UNKNOWN)) {
        while (got > 0)
            got = read_member(unpacking);
        return (int)got;
    }
    if (unpacking->files->count == MOST_FILES)
        return tool_error("%s: holds more than %d traces", unpacking->name, MOST_FILES);
    int to = tool_scratch_create(&file.path);
    if (to < 0)
        return TOOL_ERROR;
    int status = write_member(unpacking, to, got);
    close(to);
    file.name = member_name(unpacking, entry);
    if (status <= 0 && !file.name)
        status = tool_error("out of memory");
    if (status > 0 || unpacking->too_large) {
        unpacked_clear(&file);
        return status;
    }
    if (ws_source_kind_of_file(file.path) == WS_SOURCE_PACKED) {
        int within = unpack_within(unpacking, &file);
        return within ? within : status;
    }
    struct tool_unpacked *kept = ws_vector_push(unpacking->files);
    if (!kept) {
        unpacked_clear(&file);
        return tool_error("out of memory");
    }
    *kept = file;
    return status;
}

/* Unpacks the members one after the other. Returns 0, -1 if the rest cannot be read, or TOOL_ERROR. */
static int unpack_members(struct unpacking *unpacking)
{
    struct archive_entry *entry;
    int status = 0, next;
    while (!status && (next = archive_read_next_header(unpacking->archive, &entry)) != ARCHIVE_EOF) {
        if (next != ARCHIVE_OK && next != ARCHIVE_WARN)
            return -1;
        unpacking->is_archive = archive_format(unpacking->archive) != ARCHIVE_FORMAT_RAW;
        status = unpack_member(unpacking, entry);
        if (status > 0)
            return status;
        /* This limit includes the headers, so that an archive of many empty members reaches it too. */
        unpacking->too_large |= (uint64_t)archive_filter_bytes(unpacking->archive, 0) >
                                UNPACKED_ANYHOW + MOST_UNPACKED * unpacking->packed;
        if (unpacking->too_large)
            return -1;
    }
    return status;
}

/* Prints an error if the file could not be unpacked, or only a part of it. `status` is the result of unpack_members.
 * Returns 0, or TOOL_ERROR. */
static int unpack_judge(struct unpacking *unpacking, int status)
{
    const char *name = unpacking->name, *why = archive_error_string(unpacking->archive);
    bool any = unpacking->files->count > unpacking->found;
    if (status > 0)
        return status;
    if (unpacking->too_large)
        return tool_error(
            "%s: unpacks to more than %d times its size, which no trace does; to read it anyway, unpack "
            "it first",
            name, MOST_UNPACKED);
    if (status && !any)
        return tool_error("%s: cut or damaged, and nothing of it can be unpacked: %s", name, why ? why : "");
    if (status)
        tool_say("%s: cut or damaged: %s; reading what comes before", name, why ? why : "");
    if (!any)
        return unpacking->depth ? TOOL_ERROR
                                : tool_error("%s: %s", name,
                                             unpacking->is_archive
                                                 ? "holds no trace: neither *.wst, nor the PyTorch profiler's JSON, "
                                                   "nor an SQLite export of Nsight Systems"
                                                 : "holds nothing");
    return 0;
}

/* Makes libarchive accept only the formats in which people pack traces. */
static void unpack_prepare(struct archive *archive)
{
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_format_tar(archive);
    archive_read_support_format_zip(archive);
    archive_read_support_format_raw(archive);
}

static int unpack_file(struct unpacking *unpacking, const char *path)
{
    struct stat about;
    unpacking->archive = archive_read_new();
    unpacking->found = unpacking->files->count;
    unpacking->packed = stat(path, &about) ? 0 : (uint64_t)about.st_size;
    if (!unpacking->depth)
        unpacking->left = UNPACKED_ANYHOW + MOST_UNPACKED * unpacking->packed;
    int status = TOOL_ERROR;
    if (!unpacking->archive)
        return tool_error("out of memory");
    unpack_prepare(unpacking->archive);
    if (archive_read_open_filename(unpacking->archive, path, PIECE)) {
        tool_error("%s: cannot be unpacked: %s", unpacking->name, archive_error_string(unpacking->archive));
    } else {
        tool_progress_start(&unpacking->progress);
        status = unpack_members(unpacking);
        tool_progress_end(&unpacking->progress);
        status = unpack_judge(unpacking, status);
    }
    archive_read_free(unpacking->archive);
    return status;
}

/* Unpacks a member that is itself packed, and removes the member's file. Leaves out a member that cannot be
 * unpacked. */
static int unpack_within(struct unpacking *outer, struct tool_unpacked *member)
{
    struct unpacking *inner = calloc(1, sizeof(*inner));
    int status = 0;
    tool_progress_end(&outer->progress);
    if (!inner) {
        status = tool_error("out of memory");
    } else if (outer->depth == DEEPEST) {
        tool_say("left out: %s: an archive within archives; unpack it first", member->name);
    } else {
        *inner = (struct unpacking){
            .name = member->name, .files = outer->files, .left = outer->left, .depth = outer->depth + 1
        };
        status = unpack_file(inner, member->path);
        outer->left = inner->left;
        outer->too_large = inner->too_large;
        if (status && outer->is_archive && !inner->too_large)
            status = 0;
    }
    free(inner);
    unpacked_clear(member);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tool_unpacked *)a)->name, ((const struct tool_unpacked *)b)->name);
}

int tool_unpack(const char *name, const char *path, struct ws_vector *files, bool *archive)
{
    struct unpacking *unpacking = calloc(1, sizeof(*unpacking));
    if (!unpacking)
        return tool_error("out of memory");
    unpacking->name = name;
    unpacking->files = files;
    int status = unpack_file(unpacking, path);
    *archive = unpacking->is_archive;
    if (!status)
        qsort(files->data, files->count, sizeof(struct tool_unpacked), by_name);
    free(unpacking);
    return status;
}

#else

int tool_unpack(const char *name, const char *path, struct ws_vector *files, bool *archive)
{
    (void)path, (void)files;
    *archive = false;
    return tool_error(
        "%s: is packed or an archive, and this wallshim was built without libarchive, which unpacks it: "
        "unpack it first",
        name);
}

#endif
