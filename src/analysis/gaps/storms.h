/* Storms: runs of operations so short that the host cannot launch them as fast as the device runs them.
 *
 * A storm is a run of launch gaps (gaps.h) with short operations between them. The mean operation takes less than 10
 * µs (the limit for short kernels in TraceLens and nsys-ai), and at most 0.1 ms lie between two launch gaps. A storm
 * has at least 16 launch gaps, and they take at least a tenth of its time. Dispatch gaps do not end a storm; gaps of
 * any other cause do. Limits without a source are our choice.
 *
 * A CUDA graph or a compiled region can launch all operations of a storm at once. This would save the idle time,
 * except the time that a device takes between two nodes of a graph. Per step, the saving is at most the saving of a
 * replay with one launch per step (replay.h).
 *
 * Launch gaps in code that torch.compile generated are counted separately, for operations of any length. This code
 * only launches, so a CUDA graph of it (mode "reduce-overhead") would save all of the idle time, except the time
 * between two nodes. The saving is not taken from the replay, which keeps longer pauses between launches.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_STORMS_H
#define WALLSHIM_ANALYSIS_GAPS_STORMS_H

#include "analysis/gaps/gaps.h"
#include "base/vector.h"
#include "report/analysis.h"

/* ns: a launch gap of at least this length is a stall. No launch takes this long, so the host did something else. */
enum { WS_STALL = 1000000 };

struct ws_storm {
    int64_t begin, end; /* from the end of the first gap to the begin of the last gap, ns */
    uint64_t count;     /* number of operations */
    int64_t run_time;   /* sum of the operations' lengths, ns */
    int64_t idle;       /* ns in the storm's launch gaps, including the first */
    int64_t saving;     /* ns of `idle` that a graph would save */
    int64_t interval;   /* mean ns from launch to launch */
    uint32_t line;      /* index in ws_track_causes.lines of the line that caused most of the gaps */
};

struct ws_track_storms {
    struct ws_vector storms; /* struct ws_storm, largest idle time first */
    uint64_t count;          /* operations in storms */
    uint64_t steady;         /* operations in storms that are also in steady steps */
    int64_t idle, saving;    /* ns per steady step; of the recording if there are no steps */
    int64_t elsewhere;       /* ns that fewer launches would save outside storms; per step or in all, like `saving` */
    int64_t stalls;          /* ns in stalls outside storms and compiled code; per step or in all */
    uint64_t stall_count;    /* in steady steps, or in the recording */
    int64_t compiled_idle, compiled; /* ns in launch gaps of compiled code; ns of these gaps that CUDA graphs would
                                        save; per step or in all, like `saving` */
    uint64_t compiled_gaps;          /* in steady steps, or in the recording */
    uint32_t compiled_line;          /* index in ws_track_causes.lines of the compiled code with most time */
};

/* Scope: track. */
extern const struct ws_analysis ws_analysis_storms;

/* Are the gaps of this line launch gaps in compiled code? */
bool ws_storms_is_compiled(const struct ws_process *process, const struct ws_track_causes *causes, size_t line);

/* defined in storms_report.c */
void ws_storms_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_storms_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list);
int ws_storms_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
