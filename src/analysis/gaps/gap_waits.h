/* Reasons why queued work waited during gaps (idle times of a device), as far as the trace shows reasons. Only gaps
 * of the causes `wait` and `dispatch` (gaps.h) have such reasons.
 *
 * The operation that ended such a gap was launched before the gap began, or was queued for more than half of the gap.
 * The trace shows what precedes this operation in its stream: the previous operation, host functions and waits for
 * memory values, and the events that the stream waited for (cuStreamWaitEvent). A wait for an event waits for all
 * work that was launched into the event's stream before the event was last recorded. The report names the predecessor
 * that ended within the gap: a host function, a wait for a memory value, or an operation on another device. If the
 * trace holds no record of an event, another process recorded the event, or it was recorded before the trace began.
 *
 * All operations on the gap's own device had ended when the gap began. For a gap of cause `dispatch`, which lasts a
 * few µs, the operation that ended last can be the reason: the report names its stream. For a gap of cause `wait`,
 * which is longer, this operation cannot be the reason. If nothing else explains a gap of cause `wait`, the report
 * says that the reason is not known, and names the operation that ended last if this operation ran on another stream.
 *
 * Among traces of other profilers, only exports of Nsight Systems tell in which stream an event was recorded. These
 * exports hold no events of other processes.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_GAP_WAITS_H
#define WALLSHIM_ANALYSIS_GAPS_GAP_WAITS_H

#include "analysis/activity/activity.h"
#include "analysis/gaps/gaps.h"

/* The things that a stream can wait for: X(NAME, name in JSON). */
#define WS_WAITED_FOR(X)                                                                                       \
    X(NOT_KNOWN, "not_known")                                                                                  \
    X(OWN_STREAM, "own_stream")       /* the previous operation on the same stream */                          \
    X(LAST_ENDED, "last_ended")       /* not shown; the operation that ended last ran on another stream */     \
    X(EVENT, "event")                 /* an operation of another stream, after which the event was recorded */ \
    X(FOREIGN_EVENT, "foreign_event") /* an event; the trace does not show where it was recorded */            \
    X(HOST_FUNCTION, "host_function")                                                                          \
    X(MEMORY_VALUE, "memory_value")                                                                            \
    X(INTEROP, "interop") /* an external semaphore or a graphics resource */

enum ws_waited_for {
#define WS_WAITED(name, key) WS_WAITED_##name,
    WS_WAITED_FOR(WS_WAITED)
#undef WS_WAITED
        WS_WAITED_COUNT
};

struct ws_gap_wait {
    enum ws_waited_for what;
    uint32_t op; /* the operation that the stream waited for; WS_NOWHERE: not known */
};

/* All gaps of one cause in which one stream waited for the same thing (the same kind of wait, for the same stream or
 * operation). */
struct ws_gap_wait_row {
    enum ws_part cause;
    struct ws_gap_wait wait; /* what the stream waited for in the first of these gaps */
    uint32_t stream;         /* id of the stream that waited; 0: not known */
    struct ws_gap_total gaps;
};

struct ws_track_waits {
    struct ws_vector rows; /* elements: struct ws_gap_wait_row, largest time in steady steps first */
};

/* This analysis runs once per track (one device as used by one process). The analysis has no section of its own in
 * the report. */
extern const struct ws_analysis ws_analysis_gap_waits;

/* Finds the reason why the operation after a gap waited. The gap must have the cause `wait` or `dispatch`. */
struct ws_gap_wait ws_gap_wait_of(const struct ws_report *report, size_t track, enum ws_part cause,
                                  const struct ws_gap *gap);

/* Does the trace show why the operation after the gap waited? Possible reasons are a host function, a memory value,
 * or an operation of another device that ended in the gap. `steps` limits the work of all calls together: it is the
 * number of operations that the search may still visit, at first WS_GAP_WAIT_STEPS. */
enum { WS_GAP_WAIT_STEPS = 50000000 };
bool ws_gap_wait_is_shown(const struct ws_report *report, size_t track, const struct ws_gap *gap, size_t *steps);

static inline bool ws_is_queued_cause(enum ws_part cause)
{
    return cause == WS_PART_WAIT || cause == WS_PART_DISPATCH;
}

/* Writes "a host function on stream 2", or "gelu (vectorized_elementwise) on GPU 1, stream 7, by an event". Returns
 * `text`. */
const char *ws_gap_wait_text(const struct ws_report *report, size_t track, const struct ws_gap_wait *wait, char *text,
                             size_t capacity);

/* Returns the row with at least half of the time of all gaps of cause `wait`; NULL: none. */
const struct ws_gap_wait_row *ws_gap_wait_mostly(const struct ws_report *report, size_t track);

/* ws_gap_waits_text prints the table of waits in the section on gaps. ws_gap_waits_json adds its rows as JSON.
 * ws_gap_wait_json adds a single wait. */
void ws_gap_waits_text(const struct ws_report *report, size_t track, struct ws_page *page);
int ws_gap_waits_json(const struct ws_report *report, size_t track, json_t *object);
int ws_gap_wait_json(const struct ws_report *report, size_t track, const struct ws_gap_wait *wait, json_t *object);

#endif
