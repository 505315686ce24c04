/* Tells whether a signal was sent to the whole process group or to this process alone. The kernel does not tell
 * the receiver. So a child that does nothing stays next to us: a signal to the group is pending there, too.
 */
#ifndef WALLSHIM_TOOLS_WITNESS_H
#define WALLSHIM_TOOLS_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Returns 0 if the child cannot be created. The signals in `watched` must be blocked, and stay blocked in the
 * child. */
pid_t witness_start(const sigset_t *watched);

/* Waits for a moment, because the members of the group get the signal one after another. Returns false without
 * a witness. */
bool witness_got(pid_t witness, int number);

void witness_end(pid_t witness);

#endif
