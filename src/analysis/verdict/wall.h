/* The verdict on a device: the parts of its steps, the wall that limits the device, and advice.
 *
 * A step's time is cut into the parts of advice.h, and each part belongs to a wall:
 * - overhead: idle time other than waits for other ranks, and exposed copies over the host link;
 * - communication: exposed collectives, and waits for other ranks;
 * - compute and bandwidth: kernels, by their roofline class (wall_kernels.h). Exposed copies within the device and
 * exposed memsets count as bandwidth;
 * - none: CUDA graphs that were timed as a whole.
 *
 * The verdict is the wall with the most time, with one exception: a delay of the GPU (overhead or communication). A
 * delay is the verdict if it reaches its limit and 40 % of the largest wall. The reason is that all of a delay can be
 * removed. Of the time of kernels only a part can be removed, because the work remains: to save as much as the delay,
 * the kernels of the largest wall would have to become 1.67 times as fast. The limits are 30 % of a step for overhead
 * and 20 % for communication. Other tools warn at half of these limits: at 15 % for idle time (TraceLens), at 10 %
 * for communication (PyTorch's TensorBoard plugin). The report warns there too: it names the delay beside the wall.
 * The 40 % are our choice. If both delays reach their limits, the larger delay is the wall. If CUDA graphs take the
 * most time, the wall of that time is not known. Then a delay with a warning is the wall; without such a delay there
 * is no verdict.
 *
 * `by_names` is set if the roofline knows the class of less than half of the wall's time. The rest of the time then
 * counts for the wall only because of the kernels' names.
 *
 * Time that was not recorded (gaps.h) is no evidence for any wall, so all limits are shares of the rest of the step.
 * If the time that was not recorded is longer than the wall, it could change the verdict. So there is no verdict.
 * There is no verdict either if the trace holds only a sample of the operations. Both rules are our choice.
 *
 * If waiting for input is the wall, the rest of the step has a wall of its own: `behind`. In training, `behind` is
 * the wall that remains once input is loaded ahead. In a server, `behind` is the wall of the time in which there are
 * requests. */
#ifndef WALLSHIM_ANALYSIS_VERDICT_WALL_H
#define WALLSHIM_ANALYSIS_VERDICT_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/kernels/classify.h"
#include "analysis/roofline/roofline.h"
#include "report/analysis.h"

enum { WS_REASON_TEXT = 480 };

/* Limits in percent of the step, explained at the top of this file. */
enum {
    WS_WALL_OVERHEAD_LIMIT = 30,
    WS_WALL_COMMUNICATION_LIMIT = 20,
    WS_WALL_OF_LARGEST = 40, /* of the largest wall */
    WS_WALL_WARNED_OF = 50,  /* of a limit */
};

struct ws_track_wall {
    enum ws_wall wall;
    const char *why_none;                            /* a sentence, if there is no verdict */
    bool is_measured;                                /* the figures below are valid, even if there is no verdict */
    char reason[WS_REASON_TEXT];                     /* buffer for why_none, if its text has figures */
    enum ws_part cause;                              /* the largest part of the wall */
    bool per_step;                                   /* figures are per steady step, else for the whole recording */
    size_t steps;                                    /* number of steady steps; 1 if there are none */
    int64_t length;                                  /* ns: mean steady step, or the recorded time */
    int64_t parts[WS_PART_COUNT];                    /* ns; they add up to length, except for rounding */
    int64_t in_wall[WS_PART_COUNT][WS_WALL_COUNT];   /* ns; each part by wall */
    int64_t by_wall[WS_WALL_COUNT];                  /* ns; sums of in_wall */
    int64_t kernels[WS_WALL_COUNT][WS_WORK_SOURCES]; /* ns of kernels by wall, and by the source of their roofline
                                                        class; WS_WORK_NONE: no class, names suggest the wall */
    int64_t by_class[WS_WALL_COUNT][WS_CLASS_COUNT]; /* ns of kernels by wall and class */
    bool by_names;                                   /* most of the wall's time is assigned by names only */
    int64_t comm_waiting; /* ns of WS_PART_EXPOSED_COMM before the last rank arrived; -1: not known */
    bool trains;         /* the device runs kernels that only training runs; false: a wait for input may be a wait for
                            requests */
    enum ws_wall behind; /* the wall of the rest of the step, if waiting for input is the wall */
    enum ws_part behind_cause;    /* the largest part of the wall `behind`, without waits for input */
    struct ws_advice_list advice; /* largest saving first; savings from a part never exceed the part */
    int64_t saving;               /* sum over all advice, ns */
};

extern const struct ws_analysis ws_analysis_wall;

/* Returns the limit of a delay, in percent of a step. Returns 0 for walls that are not delays. */
int ws_wall_limit(enum ws_wall wall);

/* Returns the largest part of the wall. */
enum ws_part ws_wall_cause(const struct ws_track_wall *result, enum ws_wall wall);

/* ws_wall_known returns the time of this wall's kernels whose class the roofline knows. ws_wall_suggested returns the
 * time of the kernels that count for this wall only because of their names. */
int64_t ws_wall_known(const struct ws_track_wall *result, enum ws_wall wall);
static inline int64_t ws_wall_suggested(const struct ws_track_wall *result, enum ws_wall wall)
{
    return result->kernels[wall][WS_WORK_NONE];
}

/* The device of a job that a report is about. It is the straggler for which other ranks wait longest
 * (analysis/comm/comm_waits.c), because it slows the other ranks down. Without a straggler it is the slowest device.
 * Devices with steps are compared by the length of a step. If no device has steps, all devices are compared by the
 * length of their recordings. */
struct ws_slowest {
    bool is_late;  /* `shown` is a straggler; `slower` and `not_compared` are not set */
    size_t shown;  /* a device with a verdict; if no device has a verdict, a device with figures; WS_NOWHERE: none */
    size_t slower; /* the slowest of the devices without a verdict that are slower than `shown`; WS_NOWHERE: none */
    size_t not_compared; /* number of devices with operations that cannot be compared with `shown`, because only one
                            of the two has steps */
};

struct ws_slowest ws_report_slowest(const struct ws_report *report);

/* The first section of a report: the whole job in a few lines. */
extern const struct ws_analysis ws_analysis_verdict;

/* defined in wall_report.c */
int ws_wall_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
