/* Completes the trace of a process that was killed. The missing records come from the process's live memory, a file
 * in RAM that outlives the process (record/live.h).
 *
 * The live memory is not trusted: every number and text is copied and checked before use. The trace gets the
 * operations, calls, collectives, ranges and stacks that the live memory holds, and the names that they refer to. It
 * does not get the parameters of kernels that were still in a ring. Operations whose device times were not known yet
 * get no device times.
 */
#ifndef WALLSHIM_TRACE_SALVAGE_H
#define WALLSHIM_TRACE_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_salvaged {
    uint64_t rows;    /* number of rows added to the trace, apart from rows that count losses or describe the trace */
    uint64_t untimed; /* number of operations among these rows that lack device times */
    uint64_t lost;    /* number of records that the process had to drop or that are damaged, as far as known */
    bool ended;       /* the program had finished the trace; only the collector's copy may have lacked bytes */
    bool left;        /* the program called _exit, _Exit or quick_exit: nobody killed it */
    uint64_t frames;  /* number of frames in the trace now; 0 if `ended` */
};

/* Does the live memory hold data that the trace may lack? */
bool ws_salvage_is_due(int memory);

/* Has the program written the whole trace to a file of its own, because the collector had confirmed no part of it? If
 * so, the collector's part of the trace is a duplicate. */
bool ws_salvage_is_elsewhere(int memory);

/* Returns how many bytes at the start of the trace file ws_salvage will not change, whenever it is called.
 * UINT64_MAX: all bytes. The number comes from the program and may be wrong. */
uint64_t ws_salvage_settled(int memory);

/* Completes the trace at `path`. The process must have ended. memory: descriptor of the live memory, which must not
 * shrink during the call. Returns 0 or -errno: -EBADMSG: no live memory, or a damaged one; -EPROTO: written by
 * another version of wallshim; -ESTALE: the live memory belongs to another trace; -ENOMSG: the process ended before
 * the trace began; -ENODATA: the trace lacks bytes, and the live memory lacks them too. */
int ws_salvage(int memory, const char *path, struct ws_salvaged *result);

#endif
