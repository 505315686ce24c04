/* Faults in memory ahead of its use. The system provides a page at the first write to it. For a large array,
 * providing the pages takes as long as filling the array. A helper thread therefore touches the pages of later rows
 * while another thread fills earlier rows. */
#ifndef WALLSHIM_MODEL_PREFAULT_H
#define WALLSHIM_MODEL_PREFAULT_H

#include <stddef.h>

/* An array that ws_pages_alloc has allocated. */
struct ws_prefault_array {
    void *data;
    size_t size; /* bytes per element */
};

enum { WS_PREFAULT_ARRAYS = 16 };

struct ws_prefault;

/* Starts a thread that faults in rows `from` to `to` of up to WS_PREFAULT_ARRAYS arrays. Returns NULL if there are
 * too few rows or no thread can be started. */
struct ws_prefault *ws_prefault_start(const struct ws_prefault_array *arrays, size_t count, size_t from, size_t to);

/* Stops the thread, finished or not. The arrays may be freed afterwards. Accepts NULL. */
void ws_prefault_stop(struct ws_prefault *ahead);

#endif
