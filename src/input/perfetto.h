/* Turns a Perfetto trace (.pftrace) of the PyTorch profiler into the profiler's JSON format, which the Kineto
 * importer reads.
 *
 * Sources: libkineto/src/PerfettoTraceBuilder.cpp (pytorch/kineto) and torch/csrc/profiler/cupti/monitor_pftrace.cpp
 * (pytorch/pytorch). Both programs write each event as a slice: a SLICE_BEGIN with the event's arguments, and a
 * SLICE_END. Kineto puts each slice on a track of its own. It writes all arguments into one annotation, "metadata",
 * as JSON without braces. PyTorch writes one annotation for each argument. Neither program writes the category of an
 * event. So this code infers the category from arguments that only events of one category have. */
#ifndef WALLSHIM_INPUT_PERFETTO_H
#define WALLSHIM_INPUT_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Returns whether these first bytes look like a Perfetto trace. */
bool ws_perfetto_claims(const unsigned char *head, size_t size);

/* Returns 0, or -errno with a message that says what is wrong. If the trace is cut off, the JSON is cut off too. */
int ws_perfetto_to_json(const char *path, FILE *out, char *message, size_t capacity);

#endif
