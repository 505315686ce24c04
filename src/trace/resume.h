/* Prepares an encoder to append rows to a trace that has no footer. */
#ifndef WALLSHIM_TRACE_RESUME_H
#define WALLSHIM_TRACE_RESUME_H

#include <stdint.h>

struct ws_encoder;

/* Passes the file id, all frames and all dictionary rows of the trace to an encoder that ws_encoder_resume created.
 * file: a descriptor of the trace at `path`. size: the size of the trace. Returns 0 or -errno. */
int ws_encoder_know_trace(struct ws_encoder *encoder, int file, uint64_t size, const char *path);

#endif
