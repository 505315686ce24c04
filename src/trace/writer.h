/* Writes trace files for the tools, with an encoder, a file sink and zstd. */
#ifndef WALLSHIM_TRACE_WRITER_H
#define WALLSHIM_TRACE_WRITER_H

#include "wire/encoder.h"

struct ws_writer;

/* Creates the file. Returns 0 or -errno; -EEXIST if the file exists. */
int ws_writer_create(struct ws_writer **writer, const char *path);

/* Adds a row, which is a structure of the family (struct ws_op for WS_FAMILY_op, …). See ws_encoder_add. */
int ws_writer_add(struct ws_writer *writer, enum ws_family family, const void *row);

/* Writes the remaining rows and the footer, closes the file and frees the writer. Returns 0, or the first error of
 * this call or an earlier one. After an error the file is incomplete. Accepts NULL. */
int ws_writer_close(struct ws_writer *writer);

/* Returns the functions of the zstd library that this program links. */
struct ws_compressor ws_zstd_compressor(void);

#endif
