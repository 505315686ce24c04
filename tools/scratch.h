/* Temporary files in a private folder under $TMPDIR, for input that cannot be read in place, such as a pipe or a
 * packed file. The folder and its files are removed when the command ends, even by an error or a signal. */
#ifndef WALLSHIM_TOOLS_SCRATCH_H
#define WALLSHIM_TOOLS_SCRATCH_H

#include <stddef.h>

/* Creates an empty file. Returns its descriptor and sets *path. The caller frees *path. After an error, prints a line
 * on stderr and returns -1. */
int tool_scratch_create(char **path);

/* Writes all bytes. `name` is the source of the bytes, for messages. Returns 0, or TOOL_ERROR after a line on
 * stderr. */
int tool_scratch_write(int file, const char *name, const void *bytes, size_t size);

/* Removes a file and frees its path; NULL is allowed. */
void tool_scratch_remove(char *path);

#endif
