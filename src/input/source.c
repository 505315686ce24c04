#include "input/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input/importer.h"
#include "input/others.h"

static const struct ws_importer *const importers[] = { &ws_importer_kineto, &ws_importer_nsight };

struct ws_source {
    const char *path;
    struct ws_reader *reader; /* of a wallshim trace; if NULL, the members below are used */
    const struct ws_importer *importer;
    void *state;
    bool ended;
    struct ws_damage damage;
    struct ws_gather gather;
};

static const struct ws_importer *importer_for(const char *path)
{
    unsigned char head[64];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, head, sizeof(head));
    if (file >= 0)
        close(file);
    for (size_t i = 0; i < sizeof(importers) / sizeof(importers[0]) && size > 0; i++)
        if (importers[i]->claims(head, (size_t)size))
            return importers[i];
    return NULL;
}

static bool source_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), part = strlen(end);
    return length >= part && !strcmp(text + length - part, end);
}

/* Adds a hint to the reader's message: what the file is, or which other formats can be read. */
static void add_hint(const char *path, char *message, size_t capacity)
{
    const char *other = ws_others_say(path);
    size_t used = strlen(message);
    if (source_ends_with(message, "not a wallshim trace"))
        snprintf(message + used, capacity - used, "%s%s",
                 other ? "; it is "
                       : ", nor the PyTorch profiler's JSON, nor "
                         "an SQLite export of Nsight Systems",
                 other ? other : "");
}

int ws_source_open(struct ws_source **result, const char *path, char *message, size_t capacity)
{
    struct ws_source *source = calloc(1, sizeof(*source));
    int status = source ? 0 : -ENOMEM;
    if (!source) {
        snprintf(message, capacity, "out of memory");
        return status;
    }
    source->path = path;
    source->importer = importer_for(path);
    if (source->importer) {
        ws_gather_init(&source->gather);
        status = source->importer->open(&source->state, path, &source->gather);
        if (status)
            snprintf(message, capacity, "%s: cannot be read: %s", path, strerror(-status));
    } else {
        status = ws_reader_open(&source->reader, path, message, capacity);
        if (status)
            add_hint(path, message, capacity);
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
            snprintf(message, capacity, "%s: %s", source->path, *what ? what : strerror(-status));
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
        snprintf(message, capacity, "%s: needs more memory than there is", source->path);
    else if (status < 0 && !source->importer)
        snprintf(message, capacity, "%s: cannot be read further: %s", source->path, strerror(-status));
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
    /* Traces imported from one file belong to one recording, even if they were imported at different times. The
     * file's full path shows that. */
    char *path = realpath(source->path, NULL);
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
    return (size_t)(total / 4); /* a row takes two to five bytes of a file */
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
