/* The verdict on a device: the parts of its steps, the wall (the resource or delay that limits the device most), and
 * advice.
 *
 * A step's time is divided into the parts of enum ws_part (advice.h). Each part belongs to a wall:
 * - overhead: idle time except waits for other ranks, and exposed copies from and to the host (copies during which
 *   the device neither computes nor communicates);
 * - communication: exposed collectives (collectives during which the device does not compute), and waits for other
 *   ranks;
 * - compute and bandwidth: kernels, by their roofline class (wall_kernels.h). Exposed copies within the device and
 *   exposed memsets count as bandwidth;
 * - none: CUDA graphs that were timed as a whole.
 *
 * The verdict is the wall with the most time, with one exception. The walls overhead and communication are delays of
 * the GPU. A delay is the verdict if it exceeds its own limit and 40 % of the time of the largest wall. The reason is
 * that a delay can be removed altogether, but kernels can only become faster. To save as much as a delay of 40 %, the
 * kernels of the largest wall would have to become 1.67 times as fast. The limits, as shares of a step, are 30 % for
 * overhead and 20 % for communication. Other tools warn at half of these limits: TraceLens if idle time reaches 15 %
 * of a step, and PyTorch's TensorBoard plugin if communication reaches 10 %. From half of the limits on, our report
 * warns too: it names the delay in addition to the wall. The limit of 40 % is our choice. If both delays exceed their
 * limits, the larger delay is the wall. If CUDA graphs that were timed as a whole take the most time, the wall of
 * that time is not known. In that case a delay that is long enough for the warning described above is the wall. If no
 * delay is that long, there is no verdict.
 *
 * `by_names` is set if more than half of the wall's time is in kernels for which the roofline gives no class
 * (compute-bound, memory-bound …). These kernels count for the wall only because of their names.
 *
 * Time in which operations were not recorded (gaps.h) is no evidence for any wall, so all limits are shares of the
 * rest of the step. If the unrecorded time is longer than the time of the wall, there is no verdict, because the
 * unrecorded time could belong to another wall. There is no verdict either if the trace holds only a sample of the
 * operations. These two rules are our choice.
 *
 * Idle time during first-call initialization (such as module loads) will not come again. In a recording with at most
 * two steady steps, this idle time may take a large share. If it is at least 1 % of these steps, or of a recording
 * without steps, it is not counted in `parts`. `first_calls` holds it instead, and the verdict is on the rest of the
 * time. There is no verdict if the rest is less than 1/20 of the time.
 *
 * If waiting for input is the wall, `behind` is the wall of the rest of the step. In training, `behind` is the wall
 * that remains if the program loads its input ahead of time. In a server, `behind` is the wall of the time in which
 * the server has requests. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/kernels/classify.h"
#include "analysis/roofline/roofline.h"
#include "report/analysis.h"

enum { WS_REASON_TEXT = 480 };

/* Limits of the rules for a verdict, in percent of the step unless the comment names another base. The top of this
 * file explains them. */
enum {
    WS_WALL_OVERHEAD_LIMIT = 30,
    WS_WALL_COMMUNICATION_LIMIT = 20,
    WS_WALL_OF_LARGEST = 40, /* percent of the time of the largest wall */
    WS_WALL_WARNED_OF = 50,  /* percent of a delay's limit; the report warns of a delay that exceeds this */
};

struct ws_track_wall {
    enum ws_wall wall;
    const char *why_none;         /* sentence that tells why there is no verdict; NULL: there is a verdict */
    bool is_measured;             /* enough was measured: the members below are valid, even if there is no verdict */
    char reason[WS_REASON_TEXT];  /* memory for the text of why_none, if this text contains numbers */
    enum ws_part cause;           /* the part of a step that takes most of the wall's time */
    bool per_step;                /* true: times are per steady step; false: times are for the whole recording */
    size_t steps;                 /* number of steady steps; 1 if there are no steady steps */
    int64_t length;               /* ns without first_calls: mean duration of a steady step, or of the recording */
    int64_t first_calls;          /* ns of idle time in first-call initialization, which no part contains */
    int64_t parts[WS_PART_COUNT]; /* ns of each part of a step; the parts add up to `length`, except for rounding */
    int64_t in_wall[WS_PART_COUNT][WS_WALL_COUNT]; /* by part and wall: ns of the part that belong to the wall */
    int64_t by_wall[WS_WALL_COUNT];                /* by wall: sum of in_wall over all parts, ns */
    /* ns of kernels, by wall and by the source of the kernels' roofline class. WS_WORK_NONE: kernels without a class,
     * whose names suggest the wall */
    int64_t kernels[WS_WALL_COUNT][WS_WORK_SOURCES];
    int64_t by_class[WS_WALL_COUNT][WS_CLASS_COUNT]; /* ns of kernels by wall and enum ws_kernel_class */
    bool by_names;        /* most of the wall's time belongs to the wall only by the kernels' names */
    int64_t comm_waiting; /* ns of WS_PART_EXPOSED_COMM in which this rank waited for the last rank; -1: not known */
    /* the device runs kernels that only training runs; if false, a wait for input may be a server's wait for
     * requests */
    bool trains;
    enum ws_wall behind; /* if waiting for input is the wall: the wall of the rest of the step; else WS_WALL_NONE */
    enum ws_part behind_cause; /* the part that takes most time of the wall `behind`, except waits for input */
    /* advice on this device, largest saving first; the savings of all advice on one part of the step add up to at
     * most the time of that part */
    struct ws_advice_list advice;
    /* ns: sum of the savings of all advice, plus what the program saves in addition if several causes of idle time
     * are removed together */
    int64_t saving;
};

extern const struct ws_analysis ws_analysis_wall;

/* Returns the percentage of a step above which a delay (overhead, communication) can be the verdict. Returns 0 for
 * walls that are not delays. */
int ws_wall_limit(enum ws_wall wall);

/* Returns the part of a step that takes most of this wall's time. */
enum ws_part ws_wall_cause(const struct ws_track_wall *result, enum ws_wall wall);

/* ws_wall_known returns the ns of this wall's kernels whose class comes from the roofline. ws_wall_suggested returns
 * the ns of this wall's kernels that count for it only because of their names. */
int64_t ws_wall_known(const struct ws_track_wall *result, enum ws_wall wall);
static inline int64_t ws_wall_suggested(const struct ws_track_wall *result, enum ws_wall wall)
{
    return result->kernels[wall][WS_WORK_NONE];
}

/* The device of a job that a report is about. This is the device of the straggler (a late rank) that other ranks wait
 * for longest (analysis/comm/comm_waits.c). If there is no straggler, it is the slowest device. Devices with steps
 * are compared by the length of a step. If no device has steps, all devices are compared by the length of their
 * recordings. */
struct ws_slowest {
    bool is_late; /* `shown` is a straggler; `slower` and `not_compared` are not set */
    /* index of the device that the report is about. A device with a verdict is chosen if there is one, else a device
     * whose times were measured. WS_NOWHERE: there is no such device */
    size_t shown;
    /* index of the slowest of those devices that are slower than `shown` and have no verdict; WS_NOWHERE: none */
    size_t slower;
    size_t not_compared; /* number of devices with operations that cannot be compared with `shown`, because only one
                            of the two has steps */
};

struct ws_slowest ws_report_slowest(const struct ws_report *report);

/* Prints the first section of a report, which sums up the whole job in a few lines. */
extern const struct ws_analysis ws_analysis_verdict;

/* defined in wall_report.c */
int ws_wall_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
