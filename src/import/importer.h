/* One foreign format. */
#ifndef WALLSHIM_IMPORT_IMPORTER_H
#define WALLSHIM_IMPORT_IMPORTER_H

#include "import/gather.h"

struct ws_importer {
    /* Does a file begin like this? */
    bool (*claims)(const unsigned char *head, size_t size);
    /* Rows go to gather, which outlives the state. Returns 0 or -errno. */
    int (*open)(void **state, const char *path, struct ws_gather *gather);
    /* Reads a piece: 1 there is more, 0 that was all, -errno, for which a line in message says what is
     * wrong with the file. What could not be read goes into damage. */
    int (*read)(void *state, struct ws_damage *damage, char *message, size_t capacity);
    /* How many processes the file tells apart, at least 1; with choose, before the first piece is read, only rows of
     * one of them follow. NULL: one. */
    size_t (*processes)(void *state);
    void (*choose)(void *state, size_t process);
    void (*position)(const void *state, uint64_t *done, uint64_t *total);
    void (*close)(void *state);
};

extern const struct ws_importer ws_importer_kineto;
extern const struct ws_importer ws_importer_nsight;

#endif
