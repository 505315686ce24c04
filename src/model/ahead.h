/* Memory found ahead: the system hands out pages when they are first written, which for large arrays takes as long as
 * filling them. A thread does so for rows to come while another fills those before.
 */
#ifndef WALLSHIM_MODEL_AHEAD_H
#define WALLSHIM_MODEL_AHEAD_H

#include <stddef.h>

/* An array of ws_pages_alloc. */
struct ws_ahead_array {
    void *data;
    size_t size; /* bytes of an element */
};

enum { WS_AHEAD_ARRAYS = 16 };

struct ws_ahead;

/* Begins with rows `from` up to `to` of the arrays, at most WS_AHEAD_ARRAYS of them. NULL where that is not worth a
 * thread, or there is none. */
struct ws_ahead *ws_ahead_start(const struct ws_ahead_array *arrays, size_t count, size_t from, size_t to);

/* Ends it, done or not; the arrays may be freed then. Accepts NULL. */
void ws_ahead_stop(struct ws_ahead *ahead);

#endif
