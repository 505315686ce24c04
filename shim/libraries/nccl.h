/* What code in other folders may call in the wrappers of NCCL. */
#ifndef WALLSHIM_SHIM_LIBRARIES_NCCL_H
#define WALLSHIM_SHIM_LIBRARIES_NCCL_H

/* Forgets all communicators. Called when NCCL's functions are no longer wrapped, because the shim then does not see
 * that a communicator ends, and NCCL may make another communicator at the same address. */
void nccl_forget_comms(void);

#endif
