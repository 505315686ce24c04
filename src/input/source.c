#include "input/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/importer.h"
#include "input/input.h"
#include "input/others.h"
#include "input/perfetto.h"
#include "wire/frame.h"

static const struct ws_importer *const importers[] = { &ws_importer_kineto, &ws_importer_nsight };

struct ws_source {
    const char *path, *name;
    struct ws_reader *reader; /* reader of a wallshim trace; if NULL, an importer reads the file */
    const struct ws_importer *importer;
    void *state;
    bool ended;
    struct ws_damage damage;
    struct ws_gather gather;
};

static const struct ws_importer *importer_claiming(const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < sizeof(importers) / sizeof(importers[0]) && size > 0; i++)
        if (importers[i]->claims(head, size))
            return importers[i];
    return NULL;
}

/* Reads the first bytes of a file. Returns the number of bytes read, or 0 if the file cannot be read. */
static size_t read_head(const char *path, unsigned char head[WS_SOURCE_HEAD])
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, head, WS_SOURCE_HEAD);
    if (file >= 0)
        close(file);
    return size > 0 ? (size_t)size : 0;
}

static const struct ws_importer *importer_for(const char *path)
{
    unsigned char head[WS_SOURCE_HEAD];
    return importer_claiming(head, read_head(path, head));
}

static bool begins(const unsigned char *head, size_t size, size_t at, const char *magic, size_t length)
{
    return size >= at + length && !memcmp(head + at, magic, length);
}

#define BEGINS(at, magic) begins(head, size, at, magic, sizeof(magic) - 1)

enum ws_source_kind ws_source_kind_of(const unsigned char *head, size_t size)
{
    if (BEGINS(0, WS_FILE_MAGIC))
        return WS_SOURCE_OWN;
    if (BEGINS(0, "\x1f\x8b") || BEGINS(0, "\x28\xb5\x2f\xfd") || BEGINS(0, "\xfd\x37zXZ") || BEGINS(0, "BZh") ||
        BEGINS(0, "PK\3\4") || BEGINS(257, "ustar"))
        return WS_SOURCE_PACKED;
    if (importer_claiming(head, size))
        return WS_SOURCE_FOREIGN;
#ifdef WS_HAVE_PROTOBUF
    if (ws_perfetto_claims(head, size))
        return WS_SOURCE_PERFETTO;
#endif
    return WS_SOURCE_UNKNOWN;
}

enum ws_source_kind ws_source_kind_of_file(const char *path)
{
    unsigned char head[WS_SOURCE_HEAD];
    struct ws_input *input;
    size_t size = read_head(path, head);
    enum ws_source_kind kind = ws_source_kind_of(head, size), inner;
    if (kind != WS_SOURCE_PACKED || !importer_claiming(head, size) || ws_input_open(&input, path))
        return kind;
    ssize_t got = ws_input_read(input, head, sizeof(head));
    ws_input_close(input);
    inner = ws_source_kind_of(head, got > 0 ? (size_t)got : 0);
    /* The file must be unpacked first if it contains another compressed file, or a trace in another format than
     * Kineto's JSON. Kineto's importer, which reads gzip itself, gets every other file. If the contents are no trace,
     * this importer explains what is wrong. */
    return inner == WS_SOURCE_OWN || inner == WS_SOURCE_PACKED || inner == WS_SOURCE_PERFETTO ||
                   (inner == WS_SOURCE_FOREIGN && !ws_importer_kineto.claims(head, (size_t)got))
               ? WS_SOURCE_PACKED
               : WS_SOURCE_FOREIGN;
}

static bool source_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), part = strlen(end);
    return length >= part && !strcmp(text + length - part, end);
}

/* Adds a hint to the reader's message: what the file is, or which other formats can be read. */
static void add_hint(const struct ws_source *source, char *message, size_t capacity)
{
    const char *other = ws_others_say(source->name, source->path);
    size_t used = strlen(message);
    if (source_ends_with(message, "not a wallshim trace"))
        snprintf(message + used, capacity - used, "%s%s",
                 other ? "; it is "
                       : ", nor the PyTorch profiler's JSON, nor "
                         "an SQLite export of Nsight Systems",
                 other ? other : "");
}

/* A message of the reader begins with the file's path. Replaces this path by source->name, the name under which the
 * user knows the file. */
static void put_name(const struct ws_source *source, char *message, size_t capacity)
{
    size_t length = strlen(source->path);
    char *rest =
        source->name == source->path || strncmp(message, source->path, length) ? NULL : strdup(message + length);
    if (rest)
        snprintf(message, capacity, "%s%s", source->name, rest);
    free(rest);
}

int ws_source_open(struct ws_source **result, const char *path, const char *name, char *message, size_t capacity)
{
    struct ws_source *source = calloc(1, sizeof(*source));
    int status = source ? 0 : -ENOMEM;
    if (!source) {
        snprintf(message, capacity, "out of memory");
        return status;
    }
    source->path = path;
    source->name = name ? name : path;
    source->importer = importer_for(path);
    if (source->importer) {
        ws_gather_init(&source->gather);
        status = source->importer->open(&source->state, path, &source->gather);
        if (status)
            snprintf(message, capacity, "%s: cannot be read: %s", source->name, strerror(-status));
    } else {
        status = ws_reader_open(&source->reader, path, message, capacity);
        if (status) {
            add_hint(source, message, capacity);
            put_name(source, message, capacity);
        }
    }
    if (status) {
        ws_source_close(source);
        return status;
    }
    *result = source;
    return 0;
}

void ws_source_want_columns(struct ws_source *source)
{
    if (source->reader)
        ws_reader_want_columns(source->reader);
}

static int next_imported(struct ws_source *source, struct ws_block *block, char *message, size_t capacity)
{
    char what[256] = "";
    for (;;) {
        int status = ws_gather_next(&source->gather, block);
        if (status || source->ended)
            return status;
        status = source->importer->read(source->state, &source->damage, what, sizeof(what));
        if (status < 0) {
            snprintf(message, capacity, "%s: %s", source->name, *what ? what : strerror(-status));
            return status;
        }
        if (!status) {
            source->ended = true;
            ws_gather_finish(&source->gather);
        }
    }
}

int ws_source_next(struct ws_source *source, struct ws_block *block, char *message, size_t capacity)
{
    int status =
        source->importer ? next_imported(source, block, message, capacity) : ws_reader_next(source->reader, block);
    if (status == -ENOMEM)
        snprintf(message, capacity, "%s: needs more memory than there is", source->name);
    else if (status < 0 && !source->importer)
        snprintf(message, capacity, "%s: cannot be read further: %s", source->name, strerror(-status));
    return status;
}

size_t ws_source_processes(struct ws_source *source)
{
    return source->importer && source->importer->processes ? source->importer->processes(source->state) : 1;
}

void ws_source_choose(struct ws_source *source, size_t process)
{
    if (!source->importer || !source->importer->choose)
        return;
    source->importer->choose(source->state, process);
    /* Traces imported from one file belong to one recording, even if they were imported at different times. So the
     * metadata of each of these traces gets the file's full path. */
    char *path = realpath(source->name, NULL);
    if (!path) /* a member of an archive has no path: use the path of the unpacked copy */
        path = realpath(source->path, NULL);
    if (path)
        ws_gather_meta(&source->gather, "import_file", path, strlen(path));
    free(path);
}

bool ws_source_is_foreign(const struct ws_source *source)
{
    return source->importer;
}

const struct ws_damage *ws_source_damage(const struct ws_source *source)
{
    return source->importer ? &source->damage : ws_reader_damage(source->reader);
}

void ws_source_position(const struct ws_source *source, uint64_t *done, uint64_t *total)
{
    if (source->importer)
        source->importer->position(source->state, done, total);
    else
        ws_reader_position(source->reader, done, total);
}

size_t ws_source_expected_ops(const struct ws_source *source)
{
    uint64_t done, total;
    if (source->importer)
        return source->gather.ops.count;
    ws_reader_position(source->reader, &done, &total);
    return (size_t)(total / 4); /* in a wallshim trace a row takes two to five bytes */
}

void ws_source_close(struct ws_source *source)
{
    if (!source)
        return;
    ws_reader_close(source->reader);
    if (source->state)
        source->importer->close(source->state);
    if (source->importer)
        ws_gather_destroy(&source->gather);
    free(source);
}
