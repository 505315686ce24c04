/* What queued work waited for, in gaps of causes wait and dispatch (gaps.h), as far as the trace knows.
 *
 * The operation that ended such a gap was launched in time. What stood before it in its stream is known: the
 * operation before it there, host functions and memory values, and the events that the stream was made to wait for
 * (cuStreamWaitEvent), each of which stands for what was launched into another stream before its last record. Of
 * these is named what ended within the gap: a host function, a memory value, an operation on another device. An event
 * that nothing in the trace recorded is another process's, or from before the recording.
 *
 * Operations on the gap's own device had all ended when it began. They explain the few µs of a dispatch, for which
 * the stream of the one that ended last is named, but no longer wait: what that was for is then not known, and the
 * one that ended last, of another stream, is named as no more than that.
 *
 * Of other profilers' traces only exports of Nsight Systems name events with their streams, and no foreign ones.
 */
#ifndef WALLSHIM_ANALYSIS_GAP_WAITS_H
#define WALLSHIM_ANALYSIS_GAP_WAITS_H

#include "analysis/activity.h"
#include "analysis/gaps.h"

/* X(NAME, name in JSON). */
#define WS_WAITED_FOR(X)                                                                             \
    X(NOT_KNOWN, "not_known")                                                                        \
    X(OWN_STREAM, "own_stream")       /* the operation before it on its stream */                    \
    X(LAST_ENDED, "last_ended")       /* another stream's, which ended last; no event is known of */ \
    X(EVENT, "event")                 /* another stream's, by an event */                            \
    X(FOREIGN_EVENT, "foreign_event") /* an event that nothing in the trace recorded */              \
    X(HOST_FUNCTION, "host_function")                                                                \
    X(MEMORY_VALUE, "memory_value")                                                                  \
    X(INTEROP, "interop") /* an external semaphore, a graphics resource */

enum ws_waited_for {
#define WS_WAITED(name, key) WS_WAITED_##name,
    WS_WAITED_FOR(WS_WAITED)
#undef WS_WAITED
        WS_WAITED_COUNT
};

struct ws_gap_wait {
    enum ws_waited_for what;
    uint32_t op; /* that was waited for; WS_NOWHERE: not known which */
};

/* Gaps of one cause on one stream in which the same was waited for. */
struct ws_gap_wait_row {
    enum ws_part cause;
    struct ws_gap_wait wait; /* an example */
    uint32_t stream;         /* that waited: identifier in the trace, 0 not known */
    struct ws_gap_total gaps;
};

struct ws_track_waits {
    struct ws_vector rows; /* struct ws_gap_wait_row, most time in steady steps first */
};

/* Of a track; no section of its own. */
extern const struct ws_analysis ws_analysis_gap_waits;

/* Of a gap of cause wait or dispatch. */
struct ws_gap_wait ws_gap_wait_of(const struct ws_report *report, size_t track, enum ws_part cause,
                                  const struct ws_gap *gap);

static inline bool ws_is_queued_cause(enum ws_part cause)
{
    return cause == WS_PART_WAIT || cause == WS_PART_DISPATCH;
}

/* "host function on stream 2", "gelu (vectorized_elementwise) on GPU 1, stream 7, by an event". Returns text. */
const char *ws_gap_wait_text(const struct ws_report *report, size_t track, const struct ws_gap_wait *wait, char *text,
                             size_t capacity);

/* What most of the time of waits was for; NULL where there are none, or no one thing is half of it. */
const struct ws_gap_wait_row *ws_gap_wait_mostly(const struct ws_report *report, size_t track);

/* The table in the section on gaps, and keys of the report: gap_waits.c's rows, and of one gap. */
void ws_gap_waits_text(const struct ws_report *report, size_t track, struct ws_page *page);
int ws_gap_waits_json(const struct ws_report *report, size_t track, json_t *object);
int ws_gap_wait_json(const struct ws_report *report, size_t track, const struct ws_gap_wait *wait, json_t *object);

#endif
