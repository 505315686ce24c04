/* What the program's threads ask of the drain, with a deadline and without a lock. A thread may be in a handler that
 * interrupted its own earlier request, or jump away and never come back for the answer. */
#ifndef WALLSHIM_SHIM_DRAIN_REQUESTS_H
#define WALLSHIM_SHIM_DRAIN_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

enum request_kind {
    REQUEST_NONE,
    REQUEST_CONTEXT,     /* read out what a context has still running */
    REQUEST_DRIVER_EXIT, /* read out everything; the driver is about to go */
    REQUEST_LEAVE,       /* the same, and end the trace at once: the process ends without exit */
    REQUEST_FINISH       /* end the trace */
};

struct request {
    uint64_t word; /* as it stands among those asked; 0: none */
    enum request_kind kind;
    uint32_t context; /* dictionary id; 0: of any */
};

/* Waits for the answer until the deadline at most; not at all when the drain has ended, or in a forked child. */
void request_ask(enum request_kind kind, uint32_t context, int64_t deadline_ns);

/* The drain's side: the oldest request; then its answer. */
struct request request_next(void);
void request_answer(struct request request);

/* Nobody will answer any more, or somebody does again. */
void requests_end(void);
void requests_begin(void);

#endif
