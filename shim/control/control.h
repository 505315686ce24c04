/* The control thread: begins and ends sessions (recordings on request, drain/session.h) for `wallshim attach` and
 * `wallshim detach` (wire/attach.h). The thread has its own table of file descriptors, so that it does not mix its
 * descriptors with the program's. Between sessions, it sleeps until a connection arrives. */
#ifndef WALLSHIM_SHIM_CONTROL_CONTROL_H
#define WALLSHIM_SHIM_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the control thread, and waits until `wallshim attach` can connect to it, 100 ms at most. If the thread
 * cannot be started, no session can begin, but the program goes on. */
void control_listen(void);

/* For a shim that was loaded into a running program: the thread that calls these functions becomes the control
 * thread. A request with `token` is accepted from any user, because user ids differ between user namespaces.
 *
 * control_open_late makes the socket, and returns false if that fails. After a success, call control_serve_late or
 * control_close_late, which close the socket. control_serve_late answers requests until the first session has ended.
 * It also stops if no session has begun within 5 seconds. At the end it calls `over`, and tells `wallshim attach`
 * that the session has ended. */
bool control_open_late(const uint64_t token[2], void (*over)(void));
void control_serve_late(void);
void control_close_late(void);

#endif
