/* What other folders may ask of NCCL's wrappers. */
#ifndef WALLSHIM_SHIM_LIBRARIES_NCCL_H
#define WALLSHIM_SHIM_LIBRARIES_NCCL_H

/* Forgets all communicators. Called when NCCL's functions are no longer wrapped: the shim does not see that a
 * communicator ends, and NCCL may make another one at its address. */
void nccl_forget_comms(void);

#endif
