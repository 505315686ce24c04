/* Turns a Perfetto trace (.pftrace) of PyTorch's profiler into the JSON that the profiler writes otherwise, which the
 * Kineto importer reads.
 *
 * Sources: libkineto/src/PerfettoTraceBuilder.cpp (pytorch/kineto) and torch/csrc/profiler/cupti/monitor_pftrace.cpp
 * (pytorch/pytorch). Both write a slice for each event, as SLICE_BEGIN with the event's arguments and SLICE_END.
 * Kineto puts each slice on a track of its own and all arguments into one annotation, "metadata", as JSON without
 * braces; PyTorch writes an annotation for each argument. Neither names the category of an event: it is inferred from
 * the arguments that only events of one category have. */
#ifndef WALLSHIM_INPUT_PERFETTO_H
#define WALLSHIM_INPUT_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Do these first bytes look like a Perfetto trace? */
bool ws_perfetto_claims(const unsigned char *head, size_t size);

/* Returns 0, or -errno with a message that says what is wrong. If the trace is cut, so is the JSON. */
int ws_perfetto_to_json(const char *path, FILE *out, char *message, size_t capacity);

#endif
