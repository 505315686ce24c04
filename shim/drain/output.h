/* Where the trace goes: into a file or to a collector. Chooses the name, opens the file or the connection, and writes
 * facts about the program into the trace. */
#ifndef WALLSHIM_SHIM_DRAIN_OUTPUT_H
#define WALLSHIM_SHIM_DRAIN_OUTPUT_H

#include "shim/drain/collector_link.h"
#include "shim/drain/live_file.h"
#include "wire/encoder.h"
#include "wire/sink.h"

struct output {
    struct ws_file_sink file;
    struct collector_link link; /* the link to a collector; if its state is LINK_UNUSED, the trace goes to a file */
    struct ws_encoder *encoder;
    bool collected; /* the trace goes to the collector, or went there until it was closed */
    bool given;     /* another process has opened the file; `path` is only a name for messages */
    int broken;     /* 0, or -errno: nothing can be written any more, neither to the collector nor to a file */
    char path[4096];
    struct live_file live; /* live memory (state/live.h), for a trace that goes into a file */
};

/* Called in a thread of the program: chooses the file's path, and keeps a copy of the environment. Returns 0 or
 * -errno, with the path in output->path. */
int output_create(struct output *output);

/* Only the drain thread (it writes the trace) calls this function and all functions below. Connects to the collector,
 * if the options name one. If they name none, or the collector does not answer, creates the file. Writes the facts
 * about the program. Returns 0, or -errno after removing the file. */
int output_begin(struct output *output);

/* Like output_begin, but the trace goes into `file`: an open descriptor in the file thread's table. The descriptor is
 * closed in the end, also after an error. name: the file's name, for messages. */
int output_begin_in(struct output *output, int file, const char *name);

/* Adds a key and a value about the program or its recording to the trace. */
void output_say(struct output *output, const char *key, const char *value);

/* The name of what the trace is written to, for messages. */
const char *output_place(const struct output *output);

/* Writes the rows added so far to the file or the collector. Returns 0, or -errno of the first frame that could not
 * be written. */
int output_flush(struct output *output);

/* Tells the collector whether recording is on. Sets *wishes to what `wallshim ctl` has asked for. Returns false
 * if there is no collector. */
bool output_hear(struct output *output, bool recording, struct link_wishes *wishes);

/* Tells the collector how far the process is: see link_tell_progress. */
void output_tell_progress(struct output *output, uint32_t number, const uint8_t *bytes, size_t size);

/* Writes the trace's footer and closes the file or the connection. Returns 0 or -errno. */
int output_close(struct output *output);

#endif
