/* The trace as the shim writes it: its name, its file, what it says about the program. */
#ifndef WALLSHIM_SHIM_DRAIN_OUTPUT_H
#define WALLSHIM_SHIM_DRAIN_OUTPUT_H

#include "wire/encoder.h"
#include "wire/sink.h"

struct output {
    struct ws_file_sink file;
    struct ws_encoder *encoder;
    char path[4096];
};

/* Keeps what must be asked in the program's own thread: its folder and its environment. Returns 0 or -errno, with the
 * path tried in output->path. */
int output_create(struct output *output);

/* By the drain, as the following are. Creates the file and writes what is known of the program. Returns 0, or -errno
 * with the file gone. */
int output_begin(struct output *output);

/* Adds what became known since: a key and a value. */
void output_say(struct output *output, const char *key, const char *value);

/* Writes the footer and closes. Returns 0 or -errno of what went wrong last. */
int output_close(struct output *output);

#endif
