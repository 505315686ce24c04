/* Spans of code: ranges that hold several patches each. All threads of the process stand still while the patches are
 * written, so the writing must be fast: each span is read and written as a whole. */
#ifndef WALLSHIM_ATTACH_SPANS_H
#define WALLSHIM_ATTACH_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/late.h"

struct ws_span {
    uint64_t begin;      /* address in the process */
    size_t size, at;     /* bytes of the span; their offset in `bytes` of struct ws_spans */
    uint32_t first, end; /* the span's patches: indices in `patches` of struct ws_spans */
};

struct ws_spans {
    struct ws_late_patch *patches; /* in order of address */
    uint32_t patch_count;
    struct ws_span *list;
    uint32_t count;
    uint8_t *bytes; /* the bytes of all spans */
};

/* Divides the patches into spans. Returns 0 or -ENOMEM; -EFAULT: patches overlap. Call ws_spans_finish after success
 * and after errors. */
int ws_spans_make(const struct ws_late_patch *patches, uint32_t count, struct ws_spans *spans);
void ws_spans_finish(struct ws_spans *spans);

/* Makes the kernel copy the pages that the patches change, while the threads still run. These pages belong to a
 * file, so the first write to a page makes the kernel copy the page. Without this function the threads would stand
 * still during the copying, which took 0.4 ms. Writes one byte of each page, with the value that the byte has
 * already. memory: descriptor of the process's /proc/PID/mem. Returns what ws_spans_read returns. */
int ws_spans_touch(struct ws_spans *spans, int pid, int memory);

/* Reads the code of the process. memory: as for ws_spans_touch. Returns 0; -EIO; or -EBUSY: a patch's place no
 * longer has the patch's original bytes, because another tool has changed the code. */
int ws_spans_read(struct ws_spans *spans, int pid, int memory);

/* Writes the code that ws_spans_read has read, with the jumps of all patches, or, if `jumps` is false, with the
 * original bytes. A write to /proc/PID/mem also reaches code that the process itself cannot write. Returns 0 or
 * -EIO. */
int ws_spans_write(struct ws_spans *spans, int memory, bool jumps);

#endif
