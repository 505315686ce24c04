/* Storms: series of operations that are so short that the host cannot launch them as fast as the device runs them.
 *
 * A storm is a series of launch gaps (idle times in which the device waited for the next launch; gaps.h) with short
 * operations between them. The mean operation takes less than 10 µs (the limit for short kernels in TraceLens and
 * nsys-ai), and at most 0.1 ms lie between two launch gaps. A storm has at least 16 launch gaps, which take at least
 * a tenth of its time. A dispatch gap (a short gap in which the next operation was already queued; gaps.h) does not
 * end a storm. A gap of any other cause ends it. We chose the limits for which no source is given.
 *
 * A CUDA graph or a compiled region can launch all operations of a storm at once. This single launch would save the
 * idle time, except the time that a device takes between two nodes of a graph. The saving per step is at most the
 * saving that a replay with one launch per step gives. A replay computes how long the recorded steps would have taken
 * with these changes (replay.h).
 *
 * Launch gaps in code that torch.compile generated are counted separately, for operations of any length. This code
 * only launches, so a CUDA graph of it (mode "reduce-overhead") would save all of the idle time, except the time
 * between two nodes. The replay does not give this saving, because the replay keeps the longer pauses between
 * launches.
 */
#ifndef WALLSHIM_ANALYSIS_GAPS_STORMS_H
#define WALLSHIM_ANALYSIS_GAPS_STORMS_H

#include "analysis/gaps/gaps.h"
#include "base/vector.h"
#include "report/analysis.h"

/* ns. A launch gap of at least this length is a stall. A launch does not take this long, so the host did something
 * else in the gap. */
enum { WS_STALL = 1000000 };

struct ws_storm {
    int64_t begin, end; /* `begin`: end of the storm's first gap; `end`: start of its last gap; ns */
    uint64_t count;     /* number of operations */
    int64_t run_time;   /* sum of the operations' lengths, ns */
    int64_t idle;       /* ns in all launch gaps of the storm, including the first and the last */
    int64_t saving;     /* ns of `idle` that a graph would save */
    int64_t interval;   /* mean ns from one launch to the next */
    /* index in ws_track_causes.lines of the line (place in the program) that caused more than half of the gaps, if
     * there is one */
    uint32_t line;
};

struct ws_track_storms {
    struct ws_vector storms; /* elements: struct ws_storm, largest idle time first */
    uint64_t count;          /* number of operations in storms */
    uint64_t steady;         /* number of operations that are in storms and in steady steps */
    /* sums of `idle` and `saving` over the storms, without gaps in compiled code: ns per steady step, or of the
     * recording if there are no steady steps. `saving` is at most what a replay with one launch per step saves. */
    int64_t idle, saving;
    /* ns that fewer launches would save outside storms and compiled code; per steady step, or in the recording if
     * there are no steady steps */
    int64_t elsewhere;
    /* ns in stalls outside storms, compiled code and first calls; per steady step, or in the recording if there are
     * no steady steps */
    int64_t stalls;
    uint64_t stall_count; /* number of the gaps in `stalls`, in all steady steps or in the recording */
    /* `compiled_idle`: ns in launch gaps of compiled code. `compiled`: ns of these gaps that CUDA graphs would save.
     * Both are per steady step, or for the whole recording if there are no steady steps. */
    int64_t compiled_idle, compiled;
    uint64_t compiled_gaps; /* number of the gaps in `compiled_idle`, in all steady steps or in the recording */
    /* index in ws_track_causes.lines of the line of compiled code with the most time in gaps */
    uint32_t compiled_line;
};

/* This analysis runs once per track (one device as used by one process). */
extern const struct ws_analysis ws_analysis_storms;

/* Are the gaps of this line (index in ws_track_causes.lines) launch gaps in compiled code? */
bool ws_storms_is_compiled(const struct ws_process *process, const struct ws_track_causes *causes, size_t line);

/* defined in storms_report.c */
void ws_storms_text(const struct ws_report *report, size_t subject, const void *memory, struct ws_page *page);
int ws_storms_advise(const struct ws_report *report, size_t subject, const void *memory, struct ws_advice_list *list);
int ws_storms_json(const struct ws_report *report, size_t subject, const void *memory, json_t *object);

#endif
