/* Finds hangs: operations wait on a device and none ends, or a thread stays within a call, while the process lives
 * and answers. A few times within the allowed time, every process is asked how far it is (wire/progress.h). It first
 * reads what has ended. So an end that was not delivered yet is no hang. */
#ifndef WALLSHIM_COLLECTOR_HANG_H
#define WALLSHIM_COLLECTOR_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/job.h"
#include "wire/progress.h"

enum { HANG_DEVICES = 16 };

/* What is known of a process's progress. It stays after the process has ended. */
struct progress {
    struct ws_progress_head head;
    struct ws_progress_stream streams[WS_PROGRESS_STREAMS];
    struct ws_progress_comm comms[WS_PROGRESS_COMMS];
    struct ws_progress_thread threads[WS_PROGRESS_THREADS];
    uint64_t asked_ms, answered_ms; /* ms of the loop; 0: never */
    bool owes;                      /* it was asked and has not answered yet */
    struct {
        uint32_t device;   /* → device; 0: no device waits here */
        uint64_t mark;     /* of what waits there: another number after any progress */
        uint64_t since_ms; /* since when the mark is the same */
    } devices[HANG_DEVICES];
    uint64_t call_mark, call_since_ms; /* the same for its threads' calls; mark 0: no thread is in a call */
};

/* Takes an answer. Returns false if it is no such answer. */
bool progress_take(struct progress *progress, const uint8_t *bytes, size_t size, uint64_t now_ms);

/* For how long nothing has moved, in ms, as of the last answer; 0: the process is idle or works. */
uint64_t progress_stuck_ms(const struct progress *progress);

/* Says in one sentence what hangs. */
void hang_summary(const struct job *job, char *text, size_t capacity);

/* Says in full what each process did last, and in which state its threads are. Returns memory to be freed, or NULL.
 */
char *hang_text(const struct job *job, const char *summary, uint64_t now_ms);

#endif
