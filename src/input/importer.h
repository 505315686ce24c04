/* The interface of an importer. An importer reads one file format of another profiler. */
#ifndef WALLSHIM_INPUT_IMPORTER_H
#define WALLSHIM_INPUT_IMPORTER_H

#include "input/gather.h"

struct ws_importer {
    /* Returns whether a file with these first bytes has the importer's format. */
    bool (*claims)(const unsigned char *head, size_t size);
    /* Opens a file. The importer adds the file's rows to `gather`, which must stay valid until `close`. Returns 0 or
     * -errno. */
    int (*open)(void **state, const char *path, struct ws_gather *gather);
    /* Reads the next piece of the file. Returns 1 if there is more, 0 at the end, or -errno with a message that says
     * what is wrong with the file. Unreadable parts of the file are counted in damage. */
    int (*read)(void *state, struct ws_damage *damage, char *message, size_t capacity);
    /* `processes` returns how many processes the file has, at least 1. `choose` restricts the rows to one of these
     * processes. `choose` is called before the first read. Both functions are NULL if files of the format hold only
     * one process. */
    size_t (*processes)(void *state);
    void (*choose)(void *state, size_t process);
    void (*position)(const void *state, uint64_t *done, uint64_t *total);
    void (*close)(void *state);
};

extern const struct ws_importer ws_importer_kineto;
extern const struct ws_importer ws_importer_nsight;

#endif
