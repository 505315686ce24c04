/* Writes patches into a process while its threads stand still. A patch is a jump to the shim, which overwrites the
 * first bytes of a function. */
#ifndef WALLSHIM_ATTACH_APPLY_H
#define WALLSHIM_ATTACH_APPLY_H

#include <stdint.h>

#include "attach/process.h"
#include "wire/late.h"

struct ws_patching {
    const struct ws_process_facts *process;
    int memory; /* descriptor of /proc/PID/mem, for reading and writing */
    /* Id of the thread that `wallshim attach` created in the process, or 0 if that thread is not found. This thread
     * runs no code that is to be patched. */
    int ours;
    uint64_t state_at; /* address of ws_late_block.state in the process */
    const struct ws_late_patch *patches;
    uint32_t count;
};

/* Stops all threads, writes the patches, then sets ws_late_block.state to APPLIED (wire/late.h). If a thread was
 * stopped for longer than *stood_still (in ns), stores that time in *stood_still. Returns 0; -EAGAIN: at every
 * attempt, a thread did not stop or was inside code to be overwritten; -ETIMEDOUT: the shim no longer waits for the
 * patches (the state is no longer PREPARED), and nothing was written; -EBUSY: another tool has changed the code; or
 * -errno. */
int ws_apply_patches(const struct ws_patching *patching, int64_t *stood_still);

#endif
