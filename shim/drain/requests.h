/* Requests of the program's threads to the drain (the shim's own thread), with deadlines. Requests use no lock: a
 * signal handler may make a request while its thread waits for the answer to an earlier one, and a handler's longjmp
 * may abandon a request. */
#ifndef WALLSHIM_SHIM_DRAIN_REQUESTS_H
#define WALLSHIM_SHIM_DRAIN_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

enum request_kind {
    REQUEST_NONE,
    REQUEST_CONTEXT,     /* read the times of operations that still run in a context */
    REQUEST_DRIVER_EXIT, /* read the times of all operations that still run; the driver is about to shut down */
    /* The process ends without exit(): do the same as for REQUEST_DRIVER_EXIT, and end the trace at once. */
    REQUEST_LEAVE,
    REQUEST_DETACH, /* release the driver's objects that the shim holds, and end the drain's thread */
    REQUEST_FINISH  /* end the trace */
};

struct request {
    uint64_t word; /* the whole request, as stored in places[] (requests.c); 0: there is no request */
    enum request_kind kind;
    uint32_t context; /* the context's id in the trace; 0: all contexts */
};

/* Makes a request and waits for the drain's answer, for deadline_ns at most. Does nothing when the drain has ended,
 * or in a forked child. */
void request_ask(enum request_kind kind, uint32_t context, int64_t deadline_ns);

/* For the drain. request_next returns the oldest request (word 0: there is none). request_answer tells the asking
 * thread that its request is done. */
struct request request_next(void);
void request_answer(struct request request);

/* requests_end: called when the drain stops answering requests. requests_begin: called when it answers requests
 * again; requests that were made before are dropped. */
void requests_end(void);
void requests_begin(void);

#endif
