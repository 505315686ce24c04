/* The trace under way: rows go in, the file is written as it fills. Everything here is the drain thread's, but for
 * trace_create and trace_bytes. */
#ifndef WALLSHIM_SHIM_DRAIN_TRACE_H
#define WALLSHIM_SHIM_DRAIN_TRACE_H

#include <stdint.h>

#include "record/record.h"

/* Chooses the file's name, then creates it and begins it. Return 0 or -errno, having said on stderr what went wrong.
 */
int trace_create(void);
int trace_begin(void);

/* A row of the family. What the file does not take is counted (trace_unwritten), and said once. */
void trace_add(enum ws_family family, const void *row);

/* Rows of the dictionaries that were not added yet. */
void trace_add_dictionaries(void);

/* Puts out what is held. Returns 0 or -errno. */
int trace_flush(void);

/* A key and a value about the program or its recording. */
void trace_say(const char *key, const char *value);

/* Writes the end and closes the file. */
void trace_close(void);

/* Operations and calls that the file did not take, ever. */
uint64_t trace_unwritten(void);

/* Bytes of the trace as of the last flush. Any thread may ask. */
uint64_t trace_bytes(void);

#endif
