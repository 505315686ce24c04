/* Completes the trace of a process that was killed, from its live memory (record/live.h).
 *
 * The live memory is not trusted: every number and text is copied and checked first. What is taken: all that threads
 * had recorded, with its names. Operations whose device times were not known yet get none, and are counted. */
#ifndef WALLSHIM_TRACE_SALVAGE_H
#define WALLSHIM_TRACE_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ws_salvaged {
    uint64_t rows;    /* added to the trace */
    uint64_t untimed; /* operations among them that lack device times */
    uint64_t lost;    /* records that are known to be lost */
    bool ended;       /* the program had ended the trace; only a collector lacked bytes of it */
    uint64_t frames;  /* in the trace now; 0 if `ended` */
};

/* Is there something in the live memory that the trace may lack? */
bool ws_salvage_is_due(int memory);

/* The bytes of the trace that ws_salvage will leave as they are, if it is done now or later. The program says so, and
 * may lie. UINT64_MAX: all. */
uint64_t ws_salvage_settled(int memory);

/* memory: descriptor of the live memory, which must not shrink meanwhile. path: the trace. The process must have
 * ended. Returns 0 or -errno: -EBADMSG: no live memory, or a damaged one; -EPROTO: of another version of wallshim;
 * -ESTALE: the live memory is of another trace; -ENODATA: the trace lacks bytes that the live memory lacks too. */
int ws_salvage(int memory, const char *path, struct ws_salvaged *result);

#endif
