/* A session is a recording that begins and ends while the process runs. Between sessions the shim records nothing (it
 * sleeps). Each session has a trace of its own. A session begins when `wallshim attach` asks for it (shim/control).
 * It ends on request, after its duration, or with the process.
 *
 * The control thread (the shim's thread that serves `wallshim attach`) makes the requests for sessions, and the drain
 * carries them out. There is one session at a time. */
#ifndef WALLSHIM_SHIM_DRAIN_SESSION_H
#define WALLSHIM_SHIM_DRAIN_SESSION_H

#include <stdbool.h>
#include <stdint.h>

enum session_end { SESSION_TOLD, SESSION_DURATION, SESSION_PROCESS_ENDS };

struct session_wish {
    /* Descriptor of the trace's open, empty file, in the descriptor table that control thread and file thread
     * share. */
    int file;
    const char *name;     /* name of the file, for messages */
    uint64_t duration_ns; /* the session's longest duration; 0: until session_tell_end */
    uint64_t overhead;    /* the option --overhead for this session, as in struct ws_options; 0: unchanged */
};

/* --- for the control thread ---------------------------------------------------------------------- */

/* Makes the drain begin a session, and waits until it has begun, within a deadline. Returns 0, or -errno if the
 * trace's file cannot be written. -EBUSY: a session runs, or the drain is busy with an earlier request. -ETIMEDOUT:
 * the drain did not begin to carry out this request by the deadline. -EINPROGRESS: the drain began to carry out the
 * request, but was not done by the deadline; the session will end as soon as it has begun. After -EBUSY and
 * -ETIMEDOUT the caller must close the file. In all other cases the file thread closes it. */
int session_begin(const struct session_wish *wish);

/* Asks the drain to end the session. Does not wait for the end. */
void session_tell_end(void);

/* session_count_thread: called when a control thread begins (1) or ends (-1). session_thread_count: the number of
 * control threads. The drain needs this number, because control threads must not keep the process alive. */
void session_count_thread(int change);
unsigned session_thread_count(void);

/* Is there a session now? If the last session has ended, *end is set to the reason. */
bool session_runs(enum session_end *end);

/* --- for the drain ------------------------------------------------------------------------------- */

/* session_wanted returns the control thread's request for a new session, or NULL. session_began answers the request.
 * error: 0, or -errno if the session did not begin. */
const struct session_wish *session_wanted(void);
void session_began(int error, int64_t now);

/* Is the session to end now? */
bool session_is_over(int64_t now);

/* ns until the session's duration is over; INT64_MAX: there is no session, or its duration is not limited. */
int64_t session_due_in(int64_t now);

/* Called when the session's trace is complete. process_ends: the session ends because the process does. */
void session_ended(bool process_ends);

#endif
