/* Finds the window of each process of a recording: the time range that the report is about (model/window.h). The user
 * gives a range of times or of step numbers.
 *
 * The times of all processes are put on one clock, by the corrections that comm_clocks.c estimates from collectives.
 * A clock without a correction is related to the clock of the first process by CLOCK_REALTIME if the two processes
 * ran on different hosts. Times count from the start of the first operation on any device. If the user asks for
 * steps, the window of each process reaches from the time at which the host began the process's first requested step
 * to the time at which the host ended the last one. If a process has none of the requested steps, its window reaches
 * from the earliest start to the latest end of the other processes' windows. */
#ifndef WALLSHIM_ANALYSIS_WINDOWS_H
#define WALLSHIM_ANALYSIS_WINDOWS_H

#include "analysis/steps/given_steps.h"
#include "report/report.h"

/* The user's request: a range of times, or a range of steps. */
struct ws_window_request {
    bool by_steps;
    int64_t from, to;               /* ns since the first operation; INT64_MIN or INT64_MAX: no such limit given */
    uint64_t first_step, last_step; /* numbers of the first and the last step; 0 or UINT64_MAX: no such limit given */
};

struct ws_windows {
    struct ws_window *list; /* one window for each process of the whole recording */
    size_t count;
    struct ws_given_steps steps;
    struct ws_report_window shown;
};

/* The analyses whose results ws_windows_init needs. The caller runs these analyses on the whole recording, and does
 * not print their results. */
extern const struct ws_analyses ws_window_analyses;

/* Finds the windows of all processes. `whole` is a report that ran ws_window_analyses. The windows stay valid after
 * the report and its model are destroyed. Returns 0, -ENOMEM, or -ENODATA if no operation was launched in the
 * windows. On failure writes a message for the user. Call ws_windows_finish in all cases. */
int ws_windows_init(struct ws_windows *windows, const struct ws_report *whole,
                    const struct ws_window_request *request, char *message, size_t capacity);
void ws_windows_finish(struct ws_windows *windows);

#endif
