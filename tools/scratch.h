/* Temporary files: what cannot be read in place is put into a private folder under $TMPDIR. The folder and its files
 * are removed when the command ends, also by an error or a signal. */
#ifndef WALLSHIM_TOOLS_SCRATCH_H
#define WALLSHIM_TOOLS_SCRATCH_H

#include <stddef.h>

/* Creates an empty file. Returns its descriptor and sets *path, which the caller frees; or returns -1 after a line on
 * stderr. */
int tool_scratch_create(char **path);

/* Writes everything. `name` is what the bytes are of. Returns 0, or TOOL_ERROR after a line on stderr. */
int tool_scratch_write(int file, const char *name, const void *bytes, size_t size);

/* Removes a file and frees its path; NULL is allowed. */
void tool_scratch_remove(char *path);

#endif
