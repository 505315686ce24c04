/* Writing a trace file from a tool: an encoder, a file of its own, and zstd. */
#ifndef WALLSHIM_TRACE_WRITER_H
#define WALLSHIM_TRACE_WRITER_H

#include "wire/encoder.h"

struct ws_writer;

/* Creates the file; one that exists is left alone (-EEXIST). Returns 0 or -errno. */
int ws_writer_create(struct ws_writer **writer, const char *path);

/* row is the family's structure; see ws_encoder_add. */
int ws_writer_add(struct ws_writer *writer, enum ws_family family, const void *row);

/* Writes what is held and the footer, closes the file, frees the writer. Returns 0, or -errno of the
 * first thing that went wrong, now or before: the file is then incomplete. Accepts NULL. */
int ws_writer_close(struct ws_writer *writer);

/* zstd as it is linked in. */
struct ws_compressor ws_zstd_compressor(void);

#endif
