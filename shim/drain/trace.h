/* The trace that is being written. Rows are collected in frames, and full frames are written to the file. Everything
 * here is for the drain thread alone, except trace_create and trace_bytes. */
#ifndef WALLSHIM_SHIM_DRAIN_TRACE_H
#define WALLSHIM_SHIM_DRAIN_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/record.h"
#include "shim/drain/collector_link.h"

/* trace_create chooses the file's name. trace_begin creates the file and writes its beginning. Both functions return
 * 0, or print a warning and return -errno. */
int trace_create(void);
int trace_begin(void);

/* Adds a row of the family. Rows that cannot be written are counted (trace_unwritten); a warning is printed once. */
void trace_add(enum ws_family family, const void *row);

/* Adds the rows that the dictionaries have got since the last call. */
void trace_add_dictionaries(void);

/* Writes all rows that are still in memory. Returns whether all losses that were added since the last call are in the
 * trace: where there is little room, their small frame may be written although larger ones are not. */
bool trace_flush(void);

/* Adds a key and a value about the program or its recording. */
void trace_say(const char *key, const char *value);

/* Writes the end and closes the file. */
void trace_close(void);

/* As output_hear. */
bool trace_hear(bool recording, struct link_wishes *wishes);

/* As output_tell_progress. */
void trace_tell_progress(uint32_t number, const uint8_t *bytes, size_t size);

/* How many operations and calls could not be written since the start. */
uint64_t trace_unwritten(void);

/* Bytes of the trace as of the last flush. Any thread may call this. */
uint64_t trace_bytes(void);

#endif
