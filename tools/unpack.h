/* Makes plain files of what cannot be read in place: a pipe, a packed file, an archive. */
#ifndef WALLSHIM_TOOLS_UNPACK_H
#define WALLSHIM_TOOLS_UNPACK_H

#include <stdbool.h>

#include "base/vector.h"

/* A plain file that was unpacked. */
struct tool_unpacked {
    char *name; /* what the user knows it by: "ranks.tar.gz/rank0.json", or the packed file's own name */
    char *path; /* a temporary file (scratch.h) */
};

/* Copies what a descriptor gives to a temporary file. `name` is what messages call it. Returns 0 and *path, which the
 * caller frees; or TOOL_ERROR after a line on stderr. */
int tool_copy(int from, const char *name, char **path);

/* Unpacks a file: gzip, zstd, xz or bzip2, alone or around a tar or zip archive. Of an archive only members are
 * unpacked that may be traces by their first bytes. Names in an archive are only shown: no path is made of them.
 * Adds struct tool_unpacked to `files`, in order of the names. *archive: whether it was an archive. What is cut or
 * damaged is unpacked as far as possible, and stderr says so. Returns 0; or TOOL_ERROR after a line on stderr. */
int tool_unpack(const char *name, const char *path, struct ws_vector *files, bool *archive);

/* Turns a Perfetto trace into JSON in a temporary file. Returns 0 and *json, which the caller frees; or TOOL_ERROR
 * after a line on stderr. */
int tool_unpack_perfetto(const char *name, const char *path, char **json);

void tool_unpacked_finish(struct ws_vector *files);

#endif
