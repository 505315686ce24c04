/* The trace's file: its name, its creation, and the facts about the program in it. */
#ifndef WALLSHIM_SHIM_DRAIN_OUTPUT_H
#define WALLSHIM_SHIM_DRAIN_OUTPUT_H

#include "wire/encoder.h"
#include "wire/sink.h"

struct output {
    struct ws_file_sink file;
    struct ws_encoder *encoder;
    char path[4096];
};

/* Called in a thread of the program: chooses the file's path, and keeps a copy of the environment. Returns 0 or
 * -errno, with the path in output->path. */
int output_create(struct output *output);

/* This function and all functions below are for the drain thread. Creates the file and writes the facts about the
 * program. Returns 0; or -errno, with the file removed. */
int output_begin(struct output *output);

/* Adds a key and a value about the program or its recording. */
void output_say(struct output *output, const char *key, const char *value);

/* Writes the rows added so far to the file. Returns 0, or -errno of the first frame that could not be written. */
int output_flush(struct output *output);

/* Writes the footer and closes the file. Returns 0 or -errno. */
int output_close(struct output *output);

#endif
