/* Tells whether a signal was sent to the whole process group or to this process alone. The kernel does not tell the
 * receiver which of the two happened. So we keep a child process in our group. The child does nothing and blocks the
 * signals. If a signal was sent to the group, it is pending in this child, too. */
#ifndef WALLSHIM_TOOLS_WITNESS_H
#define WALLSHIM_TOOLS_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Starts the child and returns its process id, or 0 if it cannot be created. The signals in `watched` must be
 * blocked, and stay blocked in the child. */
pid_t witness_start(const sigset_t *watched);

/* Returns whether the signal is pending in the child; false if there is no child. Waits for a moment first, because
 * the members of the group get the signal one after another. */
bool witness_got(pid_t witness, int number);

void witness_end(pid_t witness);

#endif
