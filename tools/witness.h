/* Was a signal sent to the whole process group, or to this process alone? The kernel tells the receiver no
 * difference. So a child that does nothing stands beside us: what is sent to the group waits with it too. */
#ifndef WALLSHIM_TOOLS_WITNESS_H
#define WALLSHIM_TOOLS_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* 0 when it cannot be had. `watched` are blocked in it, and were before. */
pid_t witness_start(const sigset_t *watched);

/* Waits for a moment, as the group's members get the signal one after the other. False without a witness. */
bool witness_got(pid_t witness, int number);

void witness_end(pid_t witness);

#endif
