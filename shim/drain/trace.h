/* The trace that is being written. Rows are collected in frames (blocks of a trace), and full frames are written to
 * the file. Only the drain thread may call these functions, except trace_create and trace_bytes. */
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

/* Like trace_begin, for a session (session.h): the trace goes into `file`, an open descriptor in the file thread's
 * table. name: the file's name, for messages. Prints no warning. */
int trace_begin_in(int file, const char *name);

/* Is a trace open? If none is, the other functions do nothing. */
bool trace_is_open(void);

/* Adds a row of this record family. Rows that cannot be written are counted (trace_unwritten). The first failure
 * prints a warning. */
void trace_add(enum ws_family family, const void *row);

/* Adds the rows that the dictionaries (tables of contexts, streams, kernels …) have got since the last call. */
void trace_add_dictionaries(void);

/* Writes all rows that are still in memory. Returns whether all rows of losses that were added since the last call
 * are in the trace. Rows of losses may be written although other rows are not: their frame is small, and may fit
 * where larger frames do not. */
bool trace_flush(void);

/* Adds a key and a value about the program or its recording to the trace. */
void trace_say(const char *key, const char *value);

/* Writes the trace's end and closes its file or connection. */
void trace_close(void);

/* Tells the collector whether recording is on, and sets *wishes to what `wallshim ctl` has asked for. Returns false
 * if there is no collector or no trace. */
bool trace_hear(bool recording, struct link_wishes *wishes);

/* Sends the collector a report of how far the process is: see link_tell_progress. */
void trace_tell_progress(uint32_t number, const uint8_t *bytes, size_t size);

/* How many operations and calls could not be written to the trace since it began. */
uint64_t trace_unwritten(void);

/* The trace's size in bytes, as of the last flush. Any thread may call this. */
uint64_t trace_bytes(void);

#endif
