/* Where the trace goes: to a file or to a collector. Its name, its creation, and the facts about the program in it.
 */
#ifndef WALLSHIM_SHIM_DRAIN_OUTPUT_H
#define WALLSHIM_SHIM_DRAIN_OUTPUT_H

#include "shim/drain/collector_link.h"
#include "shim/drain/live_file.h"
#include "wire/encoder.h"
#include "wire/sink.h"

struct output {
    struct ws_file_sink file;
    struct collector_link link; /* not LINK_UNUSED: the trace goes to a collector, and there is no file */
    struct ws_encoder *encoder;
    bool collected; /* the trace goes to the collector, or went there until it was closed */
    int broken;     /* -errno: neither the collector nor a file takes anything */
    char path[4096];
    struct live_file live; /* of a trace in a file */
};

/* Called in a thread of the program: chooses the file's path, and keeps a copy of the environment. Returns 0 or
 * -errno, with the path in output->path. */
int output_create(struct output *output);

/* This function and all functions below are for the drain thread. Connects to the collector if one is wanted, else or
 * if nobody listens creates the file. Writes the facts about the program. Returns 0; or -errno, with the file
 * removed. */
int output_begin(struct output *output);

/* Adds a key and a value about the program or its recording. */
void output_say(struct output *output, const char *key, const char *value);

/* What the trace is written to, for messages. */
const char *output_place(const struct output *output);

/* Writes the rows added so far to the file. Returns 0, or -errno of the first frame that could not be written. */
int output_flush(struct output *output);

/* Says to the collector whether the drain records now, and fetches what `wallshim ctl` wants. Returns false if there
 * is no collector. */
bool output_hear(struct output *output, bool recording, struct link_wishes *wishes);

/* Has the collector told how far the process is: see link_tell_progress. */
void output_tell_progress(struct output *output, uint32_t number, const uint8_t *bytes, size_t size);

/* Writes the footer and closes the file. Returns 0 or -errno. */
int output_close(struct output *output);

#endif
