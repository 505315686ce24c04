/* Finds the windows of a recording's processes (model/window.h): by time, or by the numbers of steps.
 *
 * Times of all processes are on one clock, which comm_clocks.c estimates from collectives; where nothing was matched,
 * processes of different hosts are compared by CLOCK_REALTIME. Times count from the begin of the first operation of
 * all devices. A window by steps is of each process from the begin of its own first to the end of its own last step,
 * on the host. A process without such steps gets the span of the others. */
#ifndef WALLSHIM_ANALYSIS_WINDOWS_H
#define WALLSHIM_ANALYSIS_WINDOWS_H

#include "analysis/steps/given_steps.h"
#include "report/report.h"

/* What the user asks for: a time, or steps. */
struct ws_window_request {
    bool by_steps;
    int64_t from, to;               /* ns; INT64_MIN, INT64_MAX: not given */
    uint64_t first_step, last_step; /* 0, UINT64_MAX: not given */
};

struct ws_windows {
    struct ws_window *list; /* by process of the whole recording */
    size_t count;
    struct ws_given_steps steps;
    struct ws_report_window shown;
};

/* The analyses that ws_windows_init needs of the whole recording. They do not print. */
extern const struct ws_analyses ws_window_analyses;

/* Finds the windows. `whole` is a report of ws_window_analyses; the windows outlive it and its model. Returns 0,
 * -ENOMEM, or -ENODATA if the window holds no operation. On failure writes a message. Call ws_windows_finish in all
 * cases. */
int ws_windows_init(struct ws_windows *windows, const struct ws_report *whole,
                    const struct ws_window_request *request, char *message, size_t capacity);
void ws_windows_finish(struct ws_windows *windows);

#endif
