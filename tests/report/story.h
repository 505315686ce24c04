/* Traces made by hand: the fewest words that say what ran when. Identifiers are given out as things
 * are first named. */
#ifndef WALLSHIM_TESTS_STORY_H
#define WALLSHIM_TESTS_STORY_H

#include <stdint.h>

#include "trace/writer.h"

struct story {
    struct ws_writer *writer;
    uint32_t functions, shapes, threads;
    uint64_t launches;
    int64_t clock_offset;   /* of the device named last */
    const char *names[256]; /* of functions and driver functions by identifier - 1 */
    uint32_t driver_functions, labels;
    const char *driver_names[64];
    struct ws_shape known[512];
};

/* Creates the file at path; every failure ends the test program. */
void story_begin(struct story *story, const char *path);
void story_end(struct story *story);

void story_add(struct story *story, enum ws_family family, const void *row);
void story_meta(struct story *story, const char *key, const char *value);

/* A device (1, 2 …) with one context of the same number, its clock tied to the host's: device time 0
 * is host time `offset`, right within ± error. */
void story_device(struct story *story, uint32_t device, const char *name, int64_t offset, uint32_t error);
void story_stream(struct story *story, uint32_t stream, uint32_t context);
void story_thread(struct story *story, uint32_t thread, uint32_t tid, const char *name);

uint32_t story_driver_function(struct story *story, const char *name, enum ws_call_family family);
uint32_t story_function(struct story *story, const char *name);
uint32_t story_shape(struct story *story, const struct ws_shape *shape); /* its id is filled in */

/* An operation of this shape with measured device times, launched 10 µs before by thread 1; change
 * what differs and hand it to story_add. */
struct ws_op story_op(struct story *story, uint32_t shape, int64_t begin, int64_t end);

void story_kernel(struct story *story, uint32_t stream, const char *name, int64_t begin, int64_t end);
void story_copy(struct story *story, uint32_t stream, enum ws_space from, enum ws_space to, uint64_t bytes,
                int64_t begin, int64_t end);

/* A stretch of a thread's time with a name. */
void story_range(struct story *story, enum ws_range_kind kind, uint32_t thread, const char *name, int64_t begin,
                 int64_t end);

/* A kernel on stream 1 that thread 1 launches from within an operator that was given this; the operator goes on for
 * 100 ns before and after. */
void story_operate(struct story *story, const char *operator, const char * inputs, const char *kernel, int64_t begin,
                   int64_t length);

/* A call of the host on thread 1. */
void story_call(struct story *story, const char *function, enum ws_call_family family, int64_t begin, int64_t end);

#endif
