/* What the program's threads ask of the drain, with a deadline. There is no lock: a thread may ask in a signal
 * handler that interrupted its own earlier request, or leave by longjmp and never come back for the answer. */
#ifndef WALLSHIM_SHIM_DRAIN_REQUESTS_H
#define WALLSHIM_SHIM_DRAIN_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

enum request_kind {
    REQUEST_NONE,
    REQUEST_CONTEXT,     /* read the times of what still runs in a context */
    REQUEST_DRIVER_EXIT, /* read the times of all that still runs; the driver is about to shut down */
    REQUEST_LEAVE,       /* the same, and end the trace at once: the process ends without exit() */
    REQUEST_FINISH       /* end the trace */
};

struct request {
    uint64_t word; /* the whole request, as stored in places[] (requests.c); 0: there is no request */
    enum request_kind kind;
    uint32_t context; /* dictionary id; 0: all contexts */
};

/* Makes a request and waits for the answer, until the deadline at most. Does nothing when the drain has ended, or in
 * a forked child. */
void request_ask(enum request_kind kind, uint32_t context, int64_t deadline_ns);

/* For the drain. request_next returns the oldest request (word 0: there is none). request_answer says that the
 * request is answered. */
struct request request_next(void);
void request_answer(struct request request);

/* requests_end: the drain answers no more requests from now on. requests_begin: it answers requests again, and none
 * is waiting. */
void requests_end(void);
void requests_begin(void);

#endif
