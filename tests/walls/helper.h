/* A second thread of the program that launches what it is told, as autograd's does for the backward pass. */
#ifndef WALLSHIM_WALLS_HELPER_H
#define WALLSHIM_WALLS_HELPER_H

#include <stdint.h>

#include "abi/cuda.h"

void helper_start(ws_CUcontext context);

/* Has it done there, and waits until it is. */
void helper_do(void (*work)(void *argument), void *argument);

/* How long the calling thread and the helper were ready to run and had no processor, in ns; 0 where the system does
 * not say. */
int64_t helper_cpu_wait(void);

#endif
