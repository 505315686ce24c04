/* A second thread of the program, which runs functions given to it, as PyTorch's autograd thread does. */
#ifndef WALLSHIM_WALLS_HELPER_H
#define WALLSHIM_WALLS_HELPER_H

#include <stdint.h>

#include "abi/cuda.h"

void helper_start(ws_CUcontext context);

/* Calls work(argument) in the helper thread, and waits until it returns. */
void helper_do(void (*work)(void *argument), void *argument);

/* How long the calling thread and the helper thread have been ready to run but had no processor, in ns since their
 * start; 0 if the system does not count this. */
int64_t helper_cpu_wait(void);

#endif
