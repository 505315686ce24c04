/* Makes plain files of input that cannot be read in place: a pipe, a packed file, an archive. */
#ifndef WALLSHIM_TOOLS_UNPACK_H
#define WALLSHIM_TOOLS_UNPACK_H

#include <stdbool.h>

#include "base/vector.h"

/* A plain file that was unpacked. */
struct tool_unpacked {
    char *name; /* name for the user: "ranks.tar.gz/rank0.json", or the packed file's own name */
    char *path; /* path of a temporary file (scratch.h) with the unpacked bytes */
};

/* Copies all bytes of a descriptor to a temporary file. `name` is the name of the input in messages. Returns 0 and
 * sets *path, which the caller frees; or returns TOOL_ERROR after a line on stderr. */
int tool_copy(int from, const char *name, char **path);

/* Unpacks a file that is packed by gzip, zstd, xz or bzip2, or is a tar or zip archive, or both. From an archive,
 * unpacks only members whose first bytes may be those of a trace. Names in an archive are only shown: no path is made
 * of these names. Adds struct tool_unpacked to `files`, in order of the names. Stores in *archive whether the file
 * was an archive. Unpacks a cut or damaged file as far as possible, and says so on stderr. Returns 0; or TOOL_ERROR
 * after a line on stderr. */
int tool_unpack(const char *name, const char *path, struct ws_vector *files, bool *archive);

/* Converts a Perfetto trace to JSON in a temporary file. Returns 0 and sets *json to the file's path, which the
 * caller frees; or returns TOOL_ERROR after a line on stderr. */
int tool_unpack_perfetto(const char *name, const char *path, char **json);

void tool_unpacked_finish(struct ws_vector *files);

#endif
