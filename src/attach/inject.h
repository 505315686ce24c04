/* Loads the shim into a process that was started without it. wire/late.h lists the steps. */
#ifndef WALLSHIM_ATTACH_INJECT_H
#define WALLSHIM_ATTACH_INJECT_H

#include <stdint.h>

#include "attach/process.h"
#include "wire/late.h"

struct ws_injection {
    const struct ws_process_facts *process;
    const char *libraries[WS_LATE_LIBRARIES]; /* files of the libraries to load; the calling process can open them */
    /* Called once if the search for a thread that may be stopped takes longer than a second; or NULL. `most_ns`: the
     * longest time that it takes. */
    void (*searches)(const struct ws_process_facts *process, int64_t most_ns);
    uint64_t token[2]; /* random number from ws_inject; a request BEGIN with this token is accepted from any user */
    unsigned patched, refused; /* number of functions that were patched, and that could not be patched */
    int64_t stood_still;       /* longest time that a thread stood still, in ns */
    unsigned tries;            /* number of threads stopped until one was found that may create a thread (safe.h) */
    char why[WS_LATE_TEXT + 128]; /* after a failure: its reason; after success: the functions not patched */
};

/* Loads the shim and patches the functions. Afterwards the shim listens on its socket, and waits five seconds for the
 * request BEGIN, which starts the recording (wire/attach.h). Returns 0, or -errno with the reason in `why`. */
int ws_inject(struct ws_injection *injection);

#endif
