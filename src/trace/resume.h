/* Goes on with a trace that has no footer. */
#ifndef WALLSHIM_TRACE_RESUME_H
#define WALLSHIM_TRACE_RESUME_H

#include <stdint.h>

struct ws_encoder;

/* Tells an encoder of ws_encoder_resume what the trace has: all its frames, and the rows of its dictionaries. file: a
 * descriptor of the trace at `path`, whose size is given. Returns 0 or -errno. */
int ws_encoder_know_trace(struct ws_encoder *encoder, int file, uint64_t size, const char *path);

#endif
